"""Forms of images and recordings by their first bytes, and what to do with those of another form.

The name of a file says nothing: images of the web are called .jpg whatever they are.
"""

import codecs
from typing import NamedTuple

from keras_bahdanau.files.forms import FIRST_BYTES, detect_form

BEGINNING = 2**13  # bytes of a file that tell its form
IMAGE, SOUND = "image", "sound"
_CONVERSIONS = {
    IMAGE: "Convert to PNG, for example with ImageMagick.",
    SOUND: "Convert to WAV, for example with sox or ffmpeg.",
}
_REQUESTS = {IMAGE: "Give an image.", SOUND: "Give a recording."}
_REMEDIES = ("Unpack", "Download", "It may be")  # in `FORMS`: beginnings of those for all files


class MediaForm(NamedTuple):
    """Form of a file.

    Attributes:
        name: String, such as "WebP", or with its article "a ZIP archive".
        kind: `IMAGE` or `SOUND`; None for neither.
        remedy: String, a sentence, of a form that is neither; "" for none.
    """

    name: str
    kind: str | None = None
    remedy: str = ""


class Emptiness(NamedTuple):
    """Why a file gives no input: the end of "1 file is ...", and a sentence about the way out."""

    reason: str = "empty or can't be read"
    remedy: str = ""


_SIGNATURES = {
    IMAGE: {
        "PNG": (b"\x89PNG\r\n\x1a\n",),
        "JPEG": (b"\xff\xd8\xff",),
        "GIF": (b"GIF8",),
        "TIFF": (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"),
        "JPEG 2000": (b"\0\0\0\x0cjP  ", b"\xff\x4f\xff\x51"),
        "JPEG XL": (b"\0\0\0\x0cJXL ", b"\xff\x0a"),
        "PDF": (b"%PDF-",),
        "PostScript": (b"%!PS",),
        "Netpbm": tuple(b"P%d%c" % (kind, end) for kind in range(1, 8) for end in b"\n "),
        "ICO": (b"\0\0\1\0",),
        "Photoshop": (b"8BPS",),
        "DjVu": (b"AT&TFORM",),
        "OpenEXR": (b"v/1\x01",),
        "QOI": (b"qoif",),
        "MNG": (b"\x8aMNG",),
        "JNG": (b"\x8bJNG",),
        "SGI": (b"\x01\xda\0", b"\x01\xda\1"),
        "PCX": (b"\x0a\5\1",),
        "FITS": (b"SIMPLE  =",),
        "MIFF": (b"id=ImageMagick",),
        "XPM": (b"/* XPM",),
        "HDR": (b"#?RADIANCE",),
        "DDS": (b"DDS ",),
    },
    SOUND: {
        "FLAC": (b"fLaC",),
        "OGG": (b"OggS",),
        "MP3": (b"ID3", *(bytes([255, second]) for second in b"\xfb\xfa\xf3\xf2\xe3\xe2")),
        "MP2": (b"\xff\xfd", b"\xff\xfc"),
        "AAC": (b"ADIF", *(bytes([255, second]) for second in b"\xf1\xf9\xf0\xf8")),
        "AU": (b".snd",),
        "CAF": (b"caff\0",),
        "Wave64": (b"riff.\x91\xcf\x11",),
        "RIFX": (b"RIFX",),  # WAV with the high byte first
        "NIST SPHERE": (b"NIST_1A",),
        "AMR": (b"#!AMR",),
        "AC-3": (b"\x0b\x77",),
        "RealAudio": (b".ra\xfd", b".RMF"),
        "SoX": (b".SoX", b"XoS."),
        "IRCAM": (b"\x64\xa3\x01\0", b"\x64\xa3\x02\0", b"\x64\xa3\x03\0"),
        "WMA": (b"0&\xb2u\x8ef\xcf\x11",),
        "WavPack": (b"wvpk",),
        "Monkey's Audio": (b"MAC ",),
        "TTA": (b"TTA1",),
        "Shorten": (b"ajkg",),
        "VOC": (b"Creative Voice File",),
        "MIDI": (b"MThd",),
        "WebM or Matroska": (b"\x1aE\xdf\xa3",),
    },
}
_BRANDS = {  # of files that begin with a box "ftyp"
    **{b"hei": "HEIC", b"hev": "HEIC", b"mif": "HEIC", b"msf": "HEIC", b"avi": "AVIF"},
    **{b"M4A": "M4A", b"M4B": "M4A", b"qt ": "QuickTime", b"3gp": "3GP"},
}
_RIFF = {b"WEBP": MediaForm("WebP", IMAGE), b"AVI ": MediaForm("AVI", SOUND)}
_CODECS = {
    **{1: "WAV", 3: "WAV", 6: "A-law WAV", 7: "mu-law WAV", 2: "ADPCM WAV", 0x11: "ADPCM WAV"},
    **{0x31: "GSM WAV", 0x50: "MP2 WAV", 0x55: "MP3 WAV"},
}


def form_of(beginning):
    """`MediaForm` by the first `BEGINNING` bytes of a file; None if they say nothing."""
    outer, inner = beginning[:4], beginning[8:12]
    if outer in (b"RIFF", b"RF64", b"BW64") and inner == b"WAVE":
        codec = _codec(beginning)
        return MediaForm(_CODECS.get(codec, f"WAV with codec {codec}"), SOUND)
    if outer == b"RIFF" and inner in _RIFF:
        return _RIFF[inner]
    if outer == b"FORM" and inner[:3] in (b"AIF", b"8SV", b"16S"):
        return MediaForm("AIFF" if inner[:3] == b"AIF" else "8SVX", SOUND)
    if beginning[4:8] == b"ftyp":
        name = _BRANDS.get(inner[:3], "MP4")
        return MediaForm(name, IMAGE if name in ("HEIC", "AVIF") else SOUND)
    if outer[:2] == b"BM" and beginning[6:10] == bytes(4):
        return MediaForm("BMP", IMAGE)
    for kind, signatures in _SIGNATURES.items():
        for name, choices in signatures.items():
            if beginning.startswith(choices):
                return MediaForm(name, kind)
    if b"<svg" in beginning[:FIRST_BYTES]:
        return MediaForm("SVG", IMAGE)
    return _other_form(beginning)


def _other_form(beginning):
    """`MediaForm` of a file that is no image and no recording; None for bytes of no known form."""
    text = beginning.removeprefix(codecs.BOM_UTF8).lstrip()
    if form := detect_form(beginning[:FIRST_BYTES]):
        is_general = form.remedy.startswith(_REMEDIES)
        return MediaForm(form.name, None, form.remedy if is_general else "")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(text)
    except UnicodeDecodeError:
        return None
    if not text or any(byte < 9 or 13 < byte < 32 for byte in text):
        return None
    return MediaForm("a text")


def _codec(beginning):
    """The codec of a WAV file by its "fmt " chunk; 1, plain numbers, if that is further on."""
    position = 12
    while position + 8 <= len(beginning):
        name, size = beginning[position : position + 4], beginning[position + 4 : position + 8]
        size = int.from_bytes(size, "little")
        body = beginning[position + 8 : position + 8 + size]
        if name == b"fmt " and len(body) >= 16:
            is_extensible = body[:2] == b"\xfe\xff" and len(body) >= 26
            return int.from_bytes(body[24:26] if is_extensible else body[:2], "little")
        padding = size % 2 and beginning[position + 8 + size : position + 9 + size] < b" "
        position += 8 + size + padding
    return 1


def undecodable(form):
    """`Emptiness` of a recording in a form that is read in general."""
    reason = f"{form.name}, damaged or with a codec that soundfile lacks"
    return Emptiness(reason, _CONVERSIONS[SOUND])


def refused(form, kind, names):
    """`Emptiness` of a file in another form than a source of this kind reads, None for unknown.

    `names` are the forms that the source reads, such as "PNG or JPEG".
    """
    if form is None:
        return Emptiness(f"of an unknown form, not {names}", _CONVERSIONS[kind])
    if form.kind is None:
        return Emptiness(f"{form.name}, not {names}", form.remedy or _REQUESTS[kind])
    remedy = _CONVERSIONS[kind] if form.kind == kind else _REQUESTS[kind]
    return Emptiness(f"{form.name}, not {names}", remedy)
