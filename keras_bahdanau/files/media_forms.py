"""Detect the format of images and recordings from their first bytes; say how to convert others.

File names are not reliable: images on the web often have names in .jpg, whatever their format.
"""

import codecs
from typing import NamedTuple

from keras_bahdanau.files.forms import FIRST_BYTES, Form, detect_form, first_match

BEGINNING = 2**13  # number of bytes that is enough to detect the format
IMAGE, SOUND = "image", "sound"
_CONVERSIONS = {
    IMAGE: "Convert to PNG, for example with ImageMagick.",
    SOUND: "Convert to WAV, for example with sox or ffmpeg.",
}
_REQUESTS = {IMAGE: "Use an image.", SOUND: "Use a recording."}
_REMEDIES = ("Unpack", "Download", "It may be")  # first words of remedies that suit media


class Emptiness(NamedTuple):
    """Why a file yields no input: the end of "1 file is ...", and a sentence of advice."""

    reason: str = "empty or can't be read"
    remedy: str = ""


_WAV = Form("WAV", rb"(RIFF|RF64|BW64).{4}WAVE", kind=SOUND)
_IMAGES = {
    "PNG": rb"\x89PNG\r\n\x1a\n",
    "JPEG": rb"\xff\xd8\xff",
    "GIF": rb"GIF8",
    "WebP": rb"RIFF.{4}WEBP",
    "TIFF": rb"II[*+]\0|MM\0[*+]",
    "BMP": rb"BM.{4}\0{4}",
    "HEIC": rb".{4}ftyp(hei|hev|mif|msf)",
    "AVIF": rb".{4}ftypavi",
    "JPEG 2000": rb"\0{3}\x0cjP  |\xff\x4f\xff\x51",
    "JPEG XL": rb"\0{3}\x0cJXL |\xff\x0a",
    "PDF": rb"%PDF-",
    "PostScript": rb"%!PS",
    "Netpbm": rb"P[1-7][\n ]",
    "ICO": rb"\0\0\x01\0(?!ftyp)",
    "Photoshop": rb"8BPS",
    "DjVu": rb"AT&TFORM",
    "OpenEXR": rb"v/1\x01",
    "QOI": rb"qoif",
    "MNG": rb"\x8aMNG",
    "JNG": rb"\x8bJNG",
    "SGI": rb"\x01\xda[\0\x01]",
    "PCX": rb"\n\x05\x01",
    "FITS": rb"SIMPLE  =",
    "MIFF": rb"id=ImageMagick",
    "XPM": rb"/\* XPM",
    "HDR": rb"#\?RADIANCE",
    "DDS": rb"DDS ",
}
_SOUNDS = {
    "FLAC": rb"fLaC",
    "OGG": rb"OggS",
    "MP3": rb"ID3|\xff[\xfb\xfa\xf3\xf2\xe3\xe2]",
    "MP2": rb"\xff[\xfd\xfc]",
    "AAC": rb"ADIF|\xff[\xf1\xf9\xf0\xf8]",
    "AIFF": rb"FORM.{4}AIF",
    "8SVX": rb"FORM.{4}(8SV|16S)",
    "M4A": rb".{4}ftypM4[AB]",
    "QuickTime": rb".{4}ftypqt ",
    "3GP": rb".{4}ftyp3gp",
    "MP4": rb".{4}ftyp",
    "AVI": rb"RIFF.{4}AVI ",
    "AU": rb"\.snd",
    "CAF": rb"caff\0",
    "Wave64": rb"riff\.\x91\xcf\x11",
    "RIFX": rb"RIFX",  # big-endian WAV
    "NIST SPHERE": rb"NIST_1A",
    "AMR": rb"#!AMR",
    "AC-3": rb"\x0b\x77",
    "RealAudio": rb"\.ra\xfd|\.RMF",
    "SoX": rb"\.SoX|XoS\.",
    "IRCAM": rb"\x64\xa3[\x01-\x03]\0",
    "WMA": rb"0&\xb2u\x8ef\xcf\x11",
    "WavPack": rb"wvpk",
    "Monkey's Audio": rb"MAC ",
    "TTA": rb"TTA1",
    "Shorten": rb"ajkg",
    "VOC": rb"Creative Voice File",
    "MIDI": rb"MThd",
    "WebM or Matroska": rb"\x1aE\xdf\xa3",
}
MEDIA = (
    _WAV,
    *(Form(name, pattern, kind=IMAGE) for name, pattern in _IMAGES.items()),
    *(Form(name, pattern, kind=SOUND) for name, pattern in _SOUNDS.items()),
    Form("SVG", rb".{0,1020}<svg", kind=IMAGE),
)
_CODECS = {
    **{1: "WAV", 3: "WAV", 6: "A-law WAV", 7: "mu-law WAV", 2: "ADPCM WAV", 0x11: "ADPCM WAV"},
    **{0x31: "GSM WAV", 0x50: "MP2 WAV", 0x55: "MP3 WAV"},
}


def form_of(beginning):
    """Detect the `Form` of a file from its first `BEGINNING` bytes; None if not recognized."""
    form = first_match(MEDIA, beginning) or detect_form(beginning[:FIRST_BYTES])
    if form is None:
        return Form("a text") if _is_text(beginning) else None
    if form is _WAV:
        codec = _codec(beginning)
        return form._replace(name=_CODECS.get(codec, f"WAV with codec {codec}"))
    return form if form.remedy.startswith(_REMEDIES) else form._replace(remedy="")


def _is_text(beginning):
    text = beginning.removeprefix(codecs.BOM_UTF8).lstrip()
    try:
        codecs.getincrementaldecoder("utf-8")().decode(text)
    except UnicodeDecodeError:
        return False
    return bool(text) and not any(byte < 9 or 13 < byte < 32 for byte in text)


def _codec(beginning):
    """Return the codec in the "fmt " chunk of a WAV file; 1 (PCM) if `beginning` lacks it."""
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
    """Return the `Emptiness` of a recording that can't be decoded, although `form` is supported."""
    reason = f"{form.name}, damaged or with a codec that soundfile lacks"
    return Emptiness(reason, _CONVERSIONS[SOUND])


def refused(form, kind, names):
    """Return the `Emptiness` of a file in an unsupported `form`, or None for an unknown format.

    `names` lists the formats that the source reads, such as "PNG or JPEG".
    """
    if form is None:
        return Emptiness(f"in an unknown format, not {names}", _CONVERSIONS[kind])
    if form.kind is None:
        return Emptiness(f"{form.name}, not {names}", form.remedy or _REQUESTS[kind])
    remedy = _CONVERSIONS[kind] if form.kind == kind else _REQUESTS[kind]
    return Emptiness(f"{form.name}, not {names}", remedy)
