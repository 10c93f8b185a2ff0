set datafile separator comma
set terminal svg size 820,420 font "DejaVu Sans,13" background rgb "white" dynamic
set key noenhanced
set grid ytics lc rgb "#d9dee7" lt 1
set border 3 lc rgb "#5b6475"
set tics nomirror
set style data histograms
set style histogram errorbars gap 1.5 lw 1.2
set style fill solid 0.85 noborder
set boxwidth 0.9
set ylabel "mean execution time (s)"
set yrange [0:*]
plot "execution.csv" using 2:3:xtic(1) every ::1 lc rgb "#9aa4b5" title "migration off", \
     "" using 4:5 every ::1 lc rgb "#1f6feb" title "migration on"
