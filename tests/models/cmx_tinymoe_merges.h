/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Byte pair merges of the test models' vocabulary, in order: left part, tab,
 * right part. The vocabulary is three control tokens, the 256 bytes, then the
 * result of each merge, cut or padded to the model's size.
 */
#ifndef CMX_TINYMOE_MERGES_H
#define CMX_TINYMOE_MERGES_H

static const char * const tinymoe_merges[] = {
	"h\te", " \tt", " \ta", " t\the", "r\te", " \ts", "e\tr", " \tf", " \ti", "n\td",
	" \tp", "a\tc", "k\te", "o\tr", " \te", "d\te", " \to", "e\ts", " a\tnd", " f\tor",
	" t\to", "T\the", "i\tc", "i\tt", "t\ts", " \tw", " s\tt", "ac\th", "i\tl", "ke\tn",
	"m\ta", "p\ter", "r\to", "x\tper", " \tThe", " \tb", " \tde", " \tl", " \tre",
	" e\tach", " e\txper", " to\tken", "a\td", "a\tg", "a\tt", "he\tr", "i\tm", "n\te",
	"t\ther", " \tg", " \tma", " i\ts", " i\tt", "ac\tke", "ag\te", "c\to", "co\tde",
	"d\td", "e\tn", "f\til", "fil\tl", "h\ta", "h\to", "i\tn", "im\tit", "k\ts", "l\te",
	"n\ts", "nd\ts", "p\ts", "q\tu", "r\tit", "re\tfill", "ro\tu", "s\ts", "t\te", "u\tl",
	"v\ter", "v\tic", "y\ts", " \t<", " \tc", " \tke", " \tv", " a\tdd", " a\tt",
	" de\tcode", " de\tvic", " exper\tt", " exper\tts", " f\ta", " l\timit", " ma\tn",
	" o\tf", " o\tne", " p\tacke", " p\ter", " p\trefill", " st\tage", "\"\t,", "\"\t/",
	"(\t\"/", "+\t)", "+\t+)", "+\t=", "0\t9", "1\t6", "4\t09", "D\tW", "DW\tR", "E\tver",
	"Ever\ty", "I\tf", "M\te", "Me\tm", "Mem\tor", "Memor\ty", "R\tDWR", "W\the", "Whe\tn",
	"]\t;", "a\tit", "a\tl", "a\tm", "a\tr", "a\tys", "ac\the", "ac\tk", "ad\ts", "ag\ter",
	"al\tu", "alu\tes", "am\ts", "ar\tts", "at\ten", "at\th", "aten\tt", "b\tr", "br\tic",
	"c\te", "c\tks", "c\tt", "ct\tor", "d\tr", "de\tv", "dr\ti", "dri\tver", "e\tctor",
	"e\tf", "e\ti", "e\tnds", "e\tps", "e\tt", "e\tther", "e\tu", "e\tw", "ef\to",
	"efo\tre", "ei\tg", "eig\th", "eigh\tte", "eighte\td", "er\tne", "erne\tl", "es\tt",
	"et\tic", "eu\te", "g\tether", "h\tat", "h\til", "h\tm", "ha\tnd", "ha\tre",
	"hand\tle", "hare\td", "he\tad", "he\tcks", "hil\te", "hm\tetic", "ho\tle", "ho\tul",
	"houl\td", "i\td", "i\tnds", "i\to", "i\tss", "i\tz", "ic\tks", "il\ts", "im\te",
	"in\tk", "io\tn", "iss\tion", "iz\te", "k\ternel", "l\tl", "l\to", "l\tw", "lo\tw",
	"lw\tays", "m\tission", "m\to", "m\tp", "ma\tll", "mo\tv", "mov\tes", "mp\tt", "n\tce",
	"n\to", "n\tp", "n\tt", "no\tther", "np\tu", "ns\tte", "nste\tad", "o\tid", "p\ten",
	"qu\test", "qu\teue", "r\tn", "r\tu", "re\tams", "re\tss", "rit\tes", "rit\thmetic",
	"ro\tmpt", "ro\tw", "rou\tps", "rou\tt", "rout\ter", "row\ts", "ru\tns", "s\tul",
	"sul\tts", "t\tes", "t\tu", "tu\trn", "u\tm", "u\ts", "v\toid", "y\ttes", " \t(",
	" \t*", " \t+=", " \t:", " \t=", " \t?", " \tA", " \tEvery", " \tIf", " \tMemory",
	" \tO", " \tWhen", " \tdriver", " \thandle", " \thead", " \tkernel", " \tmoves",
	" \tn", " \tqueue", " \trouter", " \truns", " \t{", " \t}", " The\tre", " a\tlways",
	" a\tnother", " a\tre", " a\trithmetic", " add\tress", " add\ts", " b\tefore",
	" b\tus", " b\tytes", " c\tache", " c\thecks", " devic\te", " devic\tes", " f\tew",
	" f\tinds", " fa\tbric", " fa\tils", " g\to", " g\troups", " g\trows", " i\tnstead",
	" i\tnt", " ke\teps", " ke\tys", " l\tatent", " l\tink", " ma\tin", " man\tager",
	" man\ty", " o\tnce", " o\tpen", " o\tther", " p\tath", " p\ticks", " p\trompt",
	" packe\tt", " packe\tts", " per\tmission", " re\tads", " re\tquest", " re\tsults",
	" re\tturn", " s\tends", " s\thared", " s\thould", " s\tize", " s\tlow", " s\tmall",
	" s\tum", " st\tack", " st\tarts", " st\treams", " t\that", " t\time", " the\tre",
	" to\tgether", " v\talues", " v\tector", " w\tait", " w\teighted", " w\thile",
	" w\thole", " w\trites",
};

#endif
