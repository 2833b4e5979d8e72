# Works for two seconds, and adds a line to the file $1 at every step.
for step in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    echo "$step" >>"$1"
    sleep 0.1
done
