set datafile separator comma
set terminal svg size 980,620 font "DejaVu Sans,13" background rgb "white" dynamic
set key noenhanced
set grid ytics lc rgb "#d9dee7" lt 1
set border 3 lc rgb "#5b6475"
set tics nomirror
set style data histograms
set style histogram clustered gap 1.5
set style fill solid 0.85 noborder
set ylabel "reduction of makespan"
set xtics rotate by -55 noenhanced font ",10"
set key top right horizontal
set bmargin 9
plot for [i=0:3] "sensitivity.csv" using (column(2+2*i)):xtic(1) title columnheader(2+2*i)
