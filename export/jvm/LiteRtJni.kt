// Runs a model with libLiteRt.so on the JVM of a server or desktop. `litert_jni.cc` is the native part.

package translation

import java.nio.ByteBuffer

/**
 * The model in a direct buffer, which must not change while it is open; see `TfliteFile.read`.
 *
 * A signature is compiled when it first runs. Any number of threads may share a model; they take turns. Throws
 * InputError if LiteRT can't load the model, and UnsatisfiedLinkError if `java.library.path` has no
 * `libtranslation_litert.so`.
 */
class LiteRtJni(private val content: ByteBuffer, private val threads: Int = 1) : Model {
    private val signatures: Set<String>
    private val runners = mutableMapOf<String, Long>() // keys: signatures
    private var closed = false

    init {
        require(threads in 1..1024) {
            "`threads` must be from 1 to 1024. Received: threads=$threads. Use another number."
        }
        signatures = loading { keys(content) }.toSet()
    }

    override fun has(signature: String): Boolean = signature in signatures

    @Synchronized
    override fun has(signature: String, output: String): Boolean = loading { gives(runner(signature), output) }

    @Synchronized
    override fun run(
        signature: String,
        inputs: Map<String, IntArray>,
        ints: List<String>,
        floats: List<String>,
    ): Outputs = loading {
        val runner = runner(signature)
        inputs.forEach { (name, values) -> write(runner, name, values) }
        run(runner)
        Outputs(ints.associateWith { readInts(runner, it) }, floats.associateWith { readFloats(runner, it) })
    }

    @Synchronized
    override fun close() {
        closed = true
        runners.values.forEach(::free)
        runners.clear()
    }

    private fun runner(signature: String): Long {
        check(!closed) { "the model is closed" }
        return runners.getOrPut(signature) { open(content, signature, threads) }
    }

    private fun <T> loading(action: () -> T): T =
        try {
            action()
        } catch (error: IllegalStateException) {
            throw InputError(
                "A .tflite file must contain a model that LiteRT can load. Received: another one " +
                    "(${error.message}). Install a newer LiteRT, or export again."
            )
        }

    private external fun keys(content: ByteBuffer): Array<String>

    private external fun open(content: ByteBuffer, signature: String, threads: Int): Long

    private external fun gives(runner: Long, output: String): Boolean

    private external fun write(runner: Long, input: String, values: IntArray)

    private external fun run(runner: Long)

    private external fun readInts(runner: Long, output: String): IntArray

    private external fun readFloats(runner: Long, output: String): FloatArray

    private external fun free(runner: Long)

    private companion object {
        init {
            System.loadLibrary("translation_litert")
        }
    }
}
