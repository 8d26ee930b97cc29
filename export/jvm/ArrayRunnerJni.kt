// Runs a signature of arrays with libLiteRt.so on the JVM of a server or desktop. `litert_jni.cc` is the native part.

package translation

import java.nio.ByteBuffer

private val DTYPES = mapOf(1 to "float32", 2 to "int32", 3 to "uint8", 9 to "int8") // keys: LiteRT's numbers

/**
 * A signature of the model in a direct buffer, which must not change while it is open; see `TfliteFile.read`.
 *
 * Throws IllegalStateException if LiteRT can't load it, and UnsatisfiedLinkError if `java.library.path` has no
 * `libtranslation_litert.so`.
 */
class ArrayRunnerJni(private val content: ByteBuffer, signature: String, threads: Int = 1) : ArrayRunner {
    private var handle = open(content, signature, threads)

    override val inputs = specs(true)
    override val outputs = specs(false)

    override fun run(inputs: Map<String, NumberArray>): Map<String, NumberArray> {
        check(handle != 0L) { "the model is closed" }
        for ((name, array) in inputs) write(handle, name, array.shape.toIntArray(), array.values)
        run(handle)
        return outputs.associate { spec ->
            val values = unsigned(spec, read(handle, spec.name))
            spec.name to NumberArray(shape(handle, spec.name).asList(), values)
        }
    }

    /** Convert uint8 bytes to integers, since bytes are signed on a JVM. */
    private fun unsigned(spec: TensorSpec, values: Any): Any =
        if (spec.dtype == "uint8") (values as ByteArray).map { it.toInt() and 0xff }.toIntArray() else values

    private fun specs(ofInputs: Boolean): List<TensorSpec> =
        names(handle, ofInputs).mapIndexed { index, name ->
            val type = type(handle, ofInputs, index) // the dtype, then the shape
            TensorSpec(name, DTYPES.getValue(type[0]), type.drop(1))
        }

    override fun close() {
        free(handle)
        handle = 0
    }

    private external fun open(content: ByteBuffer, signature: String, threads: Int): Long

    private external fun names(runner: Long, ofInputs: Boolean): Array<String>

    private external fun type(runner: Long, ofInputs: Boolean, index: Int): IntArray

    private external fun write(runner: Long, input: String, shape: IntArray, values: Any)

    private external fun run(runner: Long)

    private external fun shape(runner: Long, output: String): IntArray

    private external fun read(runner: Long, output: String): Any

    private external fun free(runner: Long)

    private companion object {
        init {
            System.loadLibrary("translation_litert")
        }
    }
}
