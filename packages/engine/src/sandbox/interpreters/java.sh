# The program that runs the cells is compiled when the interpreter starts.
directory=$(mktemp -d) || exit 1
printf %s "$1" > "$directory/Cells.java"
java -Xshare:auto -XX:TieredStopAtLevel=1 -XX:+UseSerialGC "$directory/Cells.java"
status=$?
rm -r "$directory"
exit "$status"
