// SPDX-License-Identifier: MIT
// Texts that the library hands out. Messages name files, symbols and versions, which are any
// bytes, chosen by who made the file: a newline in one would be two lines of a log, an escape
// sequence would change the terminal, and Python takes no message that is not UTF-8. All
// messages go through here: errors, the log, dlerror().

#include "text.h"

#include "printable.h"

#include <stdlib.h>
#include <string.h>

char *gorgon_text_clean(char *text)
{
	size_t size = text ? strlen(text) : 0, at = 0, length;
	char *ret;

	while (at < size && (length = gorgon_printable((unsigned char *)text + at, size - at)))
		at += length;
	if (at == size)
		return text;
	ret = size < SIZE_MAX / 4 ? malloc(4 * size + 1) : NULL;
	if (ret)
		gorgon_make_printable(text, size, ret);
	free(text);
	return ret;
}
