#ifndef HEARTH_STATISTICS_H
#define HEARTH_STATISTICS_H
// Uptime counts from here.
void statistics_open(void);
#endif
