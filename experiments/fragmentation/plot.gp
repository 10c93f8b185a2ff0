set datafile separator comma
set terminal svg size 980,420 font "DejaVu Sans,13" background rgb "white" dynamic
set key noenhanced
set grid ytics lc rgb "#d9dee7" lt 1
set border 3 lc rgb "#5b6475"
set tics nomirror
set ylabel "mean FragCost"
set xlabel "time (s)"
set yrange [0:*]
set key top right
plot "fragmentation.csv" using 1:2 every ::1 with steps lw 1.4 lc rgb "#1f6feb" title "fragmentation", \
     "moves.csv" using 1:2 every ::1 with points pt 11 ps 0.9 lc rgb "#d1672f" title "a move begins"
