"""Conventions in published tables: headers, quotation marks, separators and dictionaries."""

import csv
import os
import re

from keras_bahdanau.data.readers.lines import form_error
from keras_bahdanau.files.forms import FIRST_BYTES, detect_form
from keras_bahdanau.settings.checks import counted

SAMPLE = 100  # number of lines from which the separator of a table is inferred
FEW, LONG = 10, 3  # lines, and words per line, that a table needs to recognize an unusual header

# Words in headers. A first line is a header if its cells consist of these words and of languages.
_HEADINGS = """
    accent age answer audio client complex context correct correction count definition document down
    duration error feat features feats file filename form formal frequency gender gloss grapheme
    hypothesis id idx image incorrect index inflected inflection input ipa key label lang language
    lemma line locale morphology msd mt name noisy normalized number original output path phone
    phoneme pron pronunciation prompt query question raw reference response score segment sentence
    simple source speaker spelling split src summary tag target text tgt title transcript
    transcription translated translation transliteration trg up value variant vote wav word
""".split()
_CODES = """
    aa ab af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de
    dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia
    id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo
    lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl
    ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk
    tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
    afr amh ara arb aze bel ben bos bul cat ceb ces cmn cym dan deu ell eng epo est eus fas fin fra
    gle glg guj hau hbs heb hin hrv hun hye ibo ind isl ita jpn kan kat kaz khm kor lao lat lav lit
    mal mar mkd mya nep nld nob nno nor pan pes pol por ron rus sin slk slv som spa sqi srp swa swe
    swh tam tel tgl tha tur ukr urd uzb vie xho yor yue zho zsm zul
""".split()
_LANGUAGES = """
    afrikaans albanian amharic arabic armenian azerbaijani basque belarusian bengali bosnian
    breton bulgarian burmese cantonese catalan cebuano chinese croatian czech danish dutch english
    esperanto estonian filipino finnish french galician georgian german greek gujarati hausa hebrew
    hindi hungarian icelandic igbo indonesian irish italian japanese javanese kannada kazakh khmer
    korean kurdish kyrgyz lao latin latvian lithuanian macedonian malay malayalam maltese mandarin
    maori marathi mongolian nepali norwegian occitan pashto persian polish portuguese punjabi
    quechua romanian russian sanskrit scottish serbian sinhala slovak slovenian somali spanish
    swahili swedish tagalog tajik tamil tatar telugu thai tibetan turkish turkmen ukrainian urdu
    uyghur uzbek vietnamese welsh xhosa yiddish yoruba zulu
    anglais allemand français espagnol englisch deutsch französisch spanisch inglés alemán español
    castellano italiano português русский українська беларуская български српски македонски polski
    čeština slovenčina slovenščina hrvatski bosanski magyar română nederlands svenska dansk norsk
    suomi eesti latviešu lietuvių íslenska gaeilge cymraeg català euskara galego türkçe ελληνικά
    עברית العربية فارسی اردو हिन्दी বাংলা தமிழ் తెలుగు ไทย 中文 汉语 日本語 한국어 việt indonesia
    bahasa kiswahili
""".split()
_HEADER_WORDS = {*_HEADINGS, *_CODES, *_LANGUAGES}
_LOCALE = re.compile(r"([a-z]{2,3})[-_]([a-z]{2}|[a-z]{4}|[0-9]{3})")  # en-US, eng_Latn
_PART = re.compile(r"[\s_.,:/()-]+|[0-9]+$")
_PLAIN = re.compile(r"[\w.-]*\w")  # a word without punctuation

_QUOTED = re.compile(r'"(?:[^"]|"")*"')

# ARPAbet, as in CMUdict: one to three letters, and the stress of vowels
_ENTRY = re.compile(r"(\S+)(?:\t|  ?)([A-Z]{1,3}[0-3]?(?: [A-Z]{1,3}[0-3]?)*)\s*(?:#.*)?")
_TWO_SPACES = re.compile(r"(\S+)  (\S.*)")
_COMMENTS = (";;;", "#")
_VARIANT = re.compile(r"(\S+)\([0-9]{1,2}\)")
_SYMBOLS = re.compile(r"\S{1,5}(?: \S{1,5})*")


_CSV = (
    'python -c "import csv, sys; [print(*row, sep=chr(9)) for row in csv.reader(sys.stdin{})]" '
    "< FILE > FILE.tsv"
)
# Separators other than tabs, with their names and commands that convert them to tabs.
SEPARATORS = {
    " ||| ": ("' ||| '", r"sed 's/ ||| /\t/g' FILE > FILE.tsv"),
    "\\t": (r"the letters '\t'", r"sed 's/\\t/\t/g' FILE > FILE.tsv"),
    "|": ("'|'", r"sed 's/|/\t/g' FILE > FILE.tsv"),
    ";": ("semicolons, as in CSV", _CSV.format(", delimiter=';'")),
    ",": ("commas, as in CSV", _CSV.format("")),
}


def is_header(lines):
    """Return True if the first line of a table has column names, or words found nowhere else."""
    cells = [cell.strip('" ').casefold() for cell in lines[0].split("\t")] if lines else []
    names = [*filter(None, cells)]  # an index column may have no name
    if len({*names}) < 2:  # a pair can be "form", "form"
        return False
    if all(map(_is_heading, names)):
        return True
    return len(lines) > FEW and all(map(_PLAIN.fullmatch, cells)) and _is_unusual(cells, lines)


def _is_heading(cell):
    locale = _LOCALE.fullmatch(cell)
    if locale:
        return locale[1] in _CODES or _is_heading(f"{locale[1]} {locale[2]}")
    parts = [*filter(None, _PART.split(cell))]
    return bool(parts) and all(
        part in _HEADER_WORDS or part.removesuffix("s") in _HEADER_WORDS for part in parts
    )


def _is_unusual(cells, lines):
    """Return True if a table of sentences begins with single words that are in no sentence."""
    words, count = set(), 0
    for line in lines[1:]:
        row = re.findall(r"\w+", line.casefold())
        words.update(row)
        count += len(row)
    names = {word for cell in cells for word in re.findall(r"\w+", cell)}
    return count >= LONG * len(cells) * (len(lines) - 1) and not names & words


def report_conventions(path, lines, say, tables=True):
    """Report a header, cells in quotation marks, and carriage returns inside lines.

    `tables` is False if each line is a single cell.
    """
    if tables and is_header(lines):
        say(
            f"line 1 of {os.fspath(path)!r} is read as a pair: {lines[0]!r:.80}. If it is a "
            "header, remove it"
        )
    _report_quotes(path, lines, say, "\t" if tables else "\n")
    returns = sum("\r" in line for line in lines)
    if returns:
        say(
            f"{counted(returns, 'lines')} of {os.fspath(path)!r} with carriage returns, which do "
            r"not end a line here. If they should, convert them: tr '\r' '\n'"
        )


def _report_quotes(path, lines, say, separator):
    """Report quoted cells if the file seems to have been written as CSV."""
    cells = [cell for line in lines if '"' in line for cell in line.split(separator)]
    quoted = [cell for cell in cells if _QUOTED.fullmatch(cell)]
    if 2 * len(quoted) <= sum('"' in cell for cell in cells):
        return
    count = sum(line.count(separator) + 1 for line in lines if line)
    doubled = [cell for cell in quoted if '""' in cell[1:-1]]
    # or all cells with a comma are quoted, as spreadsheets do
    with_comma = sum("," in cell for line in lines if "," in line for cell in line.split(separator))
    if doubled or len(quoted) == count or with_comma == sum("," in cell for cell in quoted) > 0:
        say(
            f"{len(quoted):,} of {count:,} cells of {os.fspath(path)!r} are quoted as in CSV, "
            f"such as {(doubled or quoted)[0]!r:.60}. The quotation marks are read as text. If "
            f"they are not part of it, remove them: {_CSV.format(', delimiter=chr(9)')}"
        )


def check_separated(path, lines):
    """Raise ValueError if columns are separated by something other than tabs."""
    form = detect_form("\n".join(lines[:SAMPLE]).encode()[:FIRST_BYTES])
    if form is not None:
        raise form_error(form, os.fspath(path))
    sample = [line for line in lines[:SAMPLE] if line]
    for separator, (name, remedy) in SEPARATORS.items():
        widths = {*_widths(sample, separator)}
        if len(sample) > 1 and len(widths) == 1 and min(widths) > 1:
            raise ValueError(
                "The columns of a TSV file must be separated by tabs. "
                f"Received: path={os.fspath(path)!r}, whose columns are separated by "
                f"{name}: {sample[0]!r:.40}. Use tabs: {remedy}"
            )


def _widths(lines, separator):
    if separator not in (",", ";"):
        return [line.count(separator) + 1 for line in lines]
    try:
        return [*map(len, csv.reader(lines, delimiter=separator))]
    except csv.Error:
        return []


def read_dictionary(path, lines, say=None):
    """Convert the lines of a pronouncing dictionary to TSV; return other lines unchanged.

    The pronunciation comes after a tab or two spaces, or after one space if it is ARPAbet. A
    comment is replaced by None. A numbered word, such as READ(1), is replaced by READ, as another
    pronunciation of the same word.
    """
    has_tabs = any("\t" in line for line in lines)
    for entry in (_ENTRY,) if has_tabs else (_ENTRY, _TWO_SPACES):
        if all(not line or entry.fullmatch(line) or line.startswith(_COMMENTS) for line in lines):
            rows = [entry.fullmatch(line) for line in lines]
            if not any(rows):
                break
            lines = [
                f"{row[1]}\t{row[2].rstrip()}" if row else line and None
                for row, line in zip(rows, lines, strict=True)
            ]
            comments = lines.count(None)
            if comments and say is not None:
                say(f"{counted(comments, 'comments')} of {os.fspath(path)!r} are left out")
            break
    return _without_numbers(path, lines, say)


def _without_numbers(path, lines, say):
    """Remove the numbers of additional pronunciations, as in READ(1) or read(2)."""
    if not any(")\t" in line for line in lines if line):
        return lines
    cells = [(line or "").split("\t") for line in lines]
    words = dict.fromkeys(row[0] for row in cells)
    matches = filter(None, map(_VARIANT.fullmatch, words))
    variants = {match[0]: match[1] for match in matches if match[1] in words}
    rows = [row for row in cells if row[0]]
    if not variants or not all(len(row) == 2 and _SYMBOLS.fullmatch(row[1]) for row in rows):
        return lines
    variant, word = next(iter(variants.items()))
    if say is not None:
        say(
            f"{counted(len(variants), 'words')} of {os.fspath(path)!r} with a number, such as "
            f"{variant!r:.40}, are read as further answers for the same words, such as {word!r:.40}"
        )
    return [
        line and "\t".join([variants.get(row[0], row[0]), *row[1:]])
        for line, row in zip(lines, cells, strict=True)
    ]
