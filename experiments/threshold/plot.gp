set datafile separator comma
set terminal svg size 900,440 font "DejaVu Sans,13" background rgb "white" dynamic
set key noenhanced above
set linetype 1 lc rgb "#1f6feb"
set linetype 2 lc rgb "#d1672f"
set linetype 3 lc rgb "#2d8a5f"
set linetype 4 lc rgb "#8e5bb5"
set grid ytics lc rgb "#d9dee7" lt 1
set border 3 lc rgb "#5b6475"
set tics nomirror
set xlabel "threshold"
set ylabel "mean makespan (s)"
set yrange [0:*]
plot for [i=0:3] "threshold.csv" using 1:(column(2+2*i)):(column(3+2*i)) with yerrorlines lw 1.8 pt 7 ps 0.5 title columnheader(2+2*i)
