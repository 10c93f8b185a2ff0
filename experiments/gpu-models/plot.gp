set datafile separator comma
set terminal svg size 900,440 font "DejaVu Sans,13" background rgb "white" dynamic
set key noenhanced
set grid ytics lc rgb "#d9dee7" lt 1
set border 3 lc rgb "#5b6475"
set tics nomirror
set style fill solid 0.85 noborder
set ylabel "reduction of makespan against first fit"
set xtics rotate by -25 noenhanced font ",11"
set boxwidth 0.7
set bmargin 6
set key off
set xrange [-0.6:*]
set offsets 0, 0.6, 0.02, 0
plot "gpu-models.csv" every ::1 using 0:6:7:xtic(sprintf("%s, %s", strcol(1), strcol(2))) with boxerrorbars lw 1.2 lc rgb "#1f6feb"
