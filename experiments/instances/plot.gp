set datafile separator comma
set terminal svg size 980,760 font "DejaVu Sans,13" background rgb "white" dynamic
set key noenhanced
set grid ytics lc rgb "#d9dee7" lt 1
set border 3 lc rgb "#5b6475"
set tics nomirror
set multiplot layout 4,1 margins 0.07,0.98,0.08,0.97 spacing 0.01,0.03
set key top right samplen 2 horizontal
set yrange [0:*]
set ytics 2
do for [i=0:3] {
  if (i == 3) { set xlabel "time (s)"; set format x "%g" } else { unset xlabel; set format x "" }
  plot "instances.csv" using 1:(column(2+2*i)) with steps lw 1.5 lc rgb "#d1672f" title columnheader(2+2*i), \
       "" using 1:(column(3+2*i)) with steps lw 1.5 lc rgb "#1f6feb" title columnheader(3+2*i)
}
unset multiplot
