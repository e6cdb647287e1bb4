#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Writes tools/infer/cmx_unicode_table.c from the Unicode data of this Python.

usage: unicode_table.py            the table on standard output
       unicode_table.py --check F  compares with F; 4 (skip) if F is of another version
"""
import re
import sys
import unicodedata

CLASSES = {'L': 1, 'M': 2, 'N': 3, 'P': 4, 'S': 5}
SPACE = 6
# White_Space beside the separators (Z*); the property has not changed since version 6.3.
SPACE_CONTROLS = {9, 10, 11, 12, 13, 0x85}
PER_LINE = 8


def class_of(code):
    category = unicodedata.category(chr(code))
    if category[0] == 'Z' or code in SPACE_CONTROLS:
        return SPACE
    return CLASSES.get(category[0], 0)


def rows():
    last = None
    for code in range(0x110000):
        cls = class_of(code)
        if cls != last:
            yield code << 3 | cls
        last = cls


def lines():
    yield '// SPDX-License-Identifier: GPL-2.0-only'
    yield '/* Made by tests/unit/unicode_table.py from Unicode %s; do not edit. */' \
        % unicodedata.unidata_version
    yield '#include "cmx_unicode.h"'
    yield ''
    yield 'const uint32_t cmx_unicode_table[] = {'
    table = list(rows())
    for i in range(0, len(table), PER_LINE):
        yield '\t' + ' '.join('0x%06x,' % x for x in table[i:i + PER_LINE])
    yield '};'
    yield ''
    yield 'const uint32_t cmx_unicode_table_len = %du;' % len(table)


def check(path):
    with open(path, encoding='ascii') as f:
        have = f.read()
    made = re.search(r'from Unicode ([0-9.]+);', have)
    if not made:
        print('%s names no Unicode version' % path)
        return 1
    if made.group(1) != unicodedata.unidata_version:
        print('made from Unicode %s, this Python has %s'
              % (made.group(1), unicodedata.unidata_version))
        return 4
    if have != '\n'.join(lines()) + '\n':
        print('%s differs from what is generated' % path)
        return 1
    print('%s is as generated from Unicode %s' % (path, made.group(1)))
    return 0


if __name__ == '__main__':
    if len(sys.argv) == 3 and sys.argv[1] == '--check':
        sys.exit(check(sys.argv[2]))
    sys.stdout.write('\n'.join(lines()) + '\n')
