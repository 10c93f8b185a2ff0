set datafile separator comma
set terminal svg size 980,760 font "DejaVu Sans,13" background rgb "white" dynamic
set key noenhanced
set grid ytics lc rgb "#d9dee7" lt 1
set border 3 lc rgb "#5b6475"
set tics nomirror
set multiplot layout 2,2
models = "opt-6.7b opt-13b bloom-1b7 bloom-7b1"
set key bottom right samplen 2
set xlabel "concurrent tasks"
set xtics 1
set ylabel "ms per output token"
set yrange [0:*]
do for [m in models] {
  set title m noenhanced
  pick(c) = (strcol(1) eq m ? column(c) : NaN)
  plot "tpot.csv" every ::1 using (pick(2)):(pick(3)):(pick(4)) with yerrorlines lw 2.5 pt 7 ps 0.6 lc rgb "#1f6feb" title "conditional LB", \
       "" every ::1 using (pick(2)):(pick(5)):(pick(6)) with yerrorlines lw 1.5 pt 5 ps 0.5 lc rgb "#d1672f" title "first fit", \
       "" every ::1 using (pick(2)):(pick(7)):(pick(8)) with yerrorlines lw 1.5 pt 9 ps 0.6 lc rgb "#2d8a5f" title "owp-style", \
       "" every ::1 using (pick(2)):(pick(9)):(pick(10)) with yerrorlines lw 1.5 pt 13 ps 0.6 lc rgb "#8e5bb5" title "elasticbatch-style"
}
unset multiplot
