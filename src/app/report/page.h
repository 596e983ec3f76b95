/* app/report/page.h: what stands around the sections of an HTML report: head, style, the script under the pointer. */
#ifndef WEFT_APP_REPORT_PAGE_H
#define WEFT_APP_REPORT_PAGE_H

#include "app/report/text.h"

void page_begin(report_text *out, const char *title);
void page_end(report_text *out);

#endif
