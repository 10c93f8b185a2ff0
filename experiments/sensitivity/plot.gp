set datafile separator comma
set terminal svg size 980,620 font "DejaVu Sans,13" background rgb "white" dynamic
set key noenhanced above
set linetype 1 lc rgb "#1f6feb"
set linetype 2 lc rgb "#d1672f"
set linetype 3 lc rgb "#2d8a5f"
set linetype 4 lc rgb "#8e5bb5"
set grid ytics lc rgb "#d9dee7" lt 1
set border 3 lc rgb "#5b6475"
set tics nomirror
set style data histograms
set style histogram clustered gap 1.5
set style fill solid 0.85 noborder
set ylabel "reduction of makespan"
set xtics rotate by -55 noenhanced font ",10"
set bmargin 9
plot for [i=0:3] "sensitivity.csv" using (column(2+2*i)):xtic(1) title columnheader(2+2*i)
