# R is given the cells by a descriptor of their own: whatever a cell reads, or a program that it starts, they stay whole.
exec 3<&0 </dev/null
exec Rscript --vanilla -e "$1"
