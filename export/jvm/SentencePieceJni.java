package translation;

import java.nio.charset.StandardCharsets;

/**
 * SentencePiece's C++ library, through {@code sentencepiece_jni.cc}, for cases where the class {@code
 * SentencePiece} in Kotlin is too slow or missing. Text is passed as UTF-8 bytes.
 *
 * <p>Throws IllegalArgumentException if the library can't load the bytes of a model. Close it once,
 * when no thread uses it any more.
 */
public final class SentencePieceJni implements AutoCloseable {
    static {
        System.loadLibrary("translation_sentencepiece");
    }

    private long handle;

    public SentencePieceJni(byte[] model) {
        handle = load(model);
    }

    /** Converts a text to ids, without an end token. */
    public int[] encode(String text) {
        return encodeBytes(open(), text.getBytes(StandardCharsets.UTF_8));
    }

    /** Converts ids to text. */
    public String decode(int[] ids) {
        return new String(decodeIds(open(), ids), StandardCharsets.UTF_8);
    }

    @Override
    public void close() {
        free(handle);
        handle = 0;
    }

    private long open() {
        if (handle == 0) throw new IllegalStateException("the vocabulary is closed");
        return handle;
    }

    private static native long load(byte[] model);

    private static native int[] encodeBytes(long handle, byte[] text);

    private static native byte[] decodeIds(long handle, int[] ids);

    private static native void free(long handle);
}
