#include "summary.h"
void summary_print(struct text *text, const struct plan *plan) { (void)text; (void)plan; }
