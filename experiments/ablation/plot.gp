set datafile separator comma
set terminal svg size 900,440 font "DejaVu Sans,13" background rgb "white" dynamic
set key noenhanced
set grid ytics lc rgb "#d9dee7" lt 1
set border 3 lc rgb "#5b6475"
set tics nomirror
set style data histograms
set style histogram clustered gap 1.5
set style fill solid 0.85 noborder
set boxwidth 0.9
set ylabel "makespan / baseline"
set yrange [0:1.15]
set key top center horizontal
names = "baseline +LB +LB+Dyn +LB+Dyn+Migr"
colours = "#9aa4b5 #d1a25f #5b9bd5 #1f6feb"
row(w, s) = sprintf("%s,%s", w, s)
set xtics ("normal25" 0, "long25" 1, "normal50" 2, "long50" 3)
set xrange [-0.6:3.6]
set boxwidth 0.18
plot for [i=1:4] "ablation.csv" every 4::i using (floor(($0))+(i-2.5)*0.2):6:7 with boxerrorbars lw 1.2 lc rgb word(colours, i) title word(names, i)
