// Runs a .tflite file of a Keras model: maps named nested lists to named nested lists. For any JVM, including Android.

package translation

/** The array of a tensor. `values` is a FloatArray, an IntArray or a ByteArray; the last axis changes fastest. */
class NumberArray(val shape: List<Int>, val values: Any)

/** An input or output of a signature. `dtype` is NumPy's name, and `shape` contains -1 for an axis of any size. */
class TensorSpec(val name: String, val dtype: String, val shape: List<Int>)

/** A signature of a model, for one thread at a time. */
interface ArrayRunner : AutoCloseable {
    val inputs: List<TensorSpec>
    val outputs: List<TensorSpec>

    /** Return the outputs by name. Throws IllegalStateException if the model rejects the shapes. */
    fun run(inputs: Map<String, NumberArray>): Map<String, NumberArray>
}

/**
 * A file of a Keras model, for any number of threads, which take turns. Closing it closes its runners.
 *
 * ```
 * val file = TfliteFile.read("mood.tflite", Use.ARRAYS)
 * ArrayModel(file) { ArrayRunnerJni(file.content, it) }.use { println(it.run(mapOf("ids" to listOf(listOf(4, 8))))) }
 * ```
 *
 * `open` returns the runner for a signature, which is opened when it first runs.
 */
class ArrayModel(private val file: TfliteFile, private val open: (String) -> ArrayRunner) : AutoCloseable {
    /** Names of the signatures; the first one is the default. */
    val signatures: List<String> = (file.card["tensors"] as Map<*, *>).keys.map { it.toString() }

    /** Names of the classes, or null. */
    val labels: List<String>? = (file.card["labels"] as? List<*>)?.map { it.toString() }

    private val runners = mutableMapOf<String, ArrayRunner>()

    /**
     * Return the outputs, nested lists by name, for a number or nested lists for each input.
     *
     * Throws InputError for wrong names, shapes or numbers.
     */
    @Synchronized
    fun run(inputs: Map<*, *>, signature: String = signatures.first()): Map<String, Any> =
        runArrays(inputs, signature, mapOf()).mapValues { (_, array) -> nested(array) }

    /**
     * Return a function of the inputs of one time step, which keeps the states; they start at zero.
     *
     * Throws InputError if the file has no signature `step`.
     */
    fun stream(): (Map<*, *>) -> Map<String, Any> {
        if ("step" !in signatures) {
            throw InputError(
                "A model to stream must have the signature 'step'. Received: signatures " +
                    "${signatures.joinToString(", ")}. Export it with signatures=('step',)."
            )
        }
        val names = (file.card["states"] as? List<*>).orEmpty()
        var states = runner("step").inputs.filter { it.name in names }.associate { it.name to zeros(it) }
        return { inputs ->
            synchronized(this) {
                val outputs = runArrays(inputs, "step", states)
                states = states.mapValues { (name, _) -> outputs.getValue(name) }
                outputs.filterKeys { it !in states }.mapValues { (_, array) -> nested(array) }
            }
        }
    }

    /** Throw InputError unless the model has a signature and LiteRT can load it. */
    @Synchronized
    fun check(signature: String) {
        runner(signature)
    }

    private fun runArrays(
        inputs: Map<*, *>,
        signature: String,
        states: Map<String, NumberArray>,
    ): Map<String, NumberArray> {
        val runner = runner(signature)
        val asked = runner.inputs.filter { it.name !in states }
        if (asked.map { it.name }.toSet() != inputs.keys) {
            throw InputError(
                "The inputs of ${quoted(signature)} must be ${asked.joinToString(", ") { it.name }}. Received: " +
                    "${shortened(inputs.keys.joinToString(", ")).ifEmpty { "none" }}."
            )
        }
        val arrays = states + asked.associate { it.name to ArrayReader(it).read(inputs[it.name]) }
        try {
            return runner.run(arrays)
        } catch (error: IllegalStateException) {
            val shapes = arrays.entries.joinToString(", ") { (name, array) -> "$name ${described(array.shape)}" }
            throw InputError("Inputs must have shapes that the model accepts. Received: $shapes (${error.message}).")
        }
    }

    private fun runner(signature: String): ArrayRunner {
        if (signature !in signatures) {
            throw InputError(
                "The signature must be one of ${signatures.joinToString(", ")}. Received: " +
                    "${quoted(shortened(signature))}. Correct it."
            )
        }
        try {
            return runners.getOrPut(signature) { open(signature) }
        } catch (error: IllegalStateException) {
            throw InputError(
                "A .tflite file must contain a model that LiteRT can load. Received: path=${quoted(file.path)} " +
                    "(${error.message}). Install a newer LiteRT, or export again."
            )
        }
    }

    @Synchronized
    override fun close() {
        runners.values.forEach { it.close() }
        runners.clear()
    }
}

/** Reads the array of an input from nested lists of numbers. */
private class ArrayReader(private val spec: TensorSpec) {
    fun read(value: Any?): NumberArray {
        val shape = shapeOf(value)
        val sizes = spec.shape.zip(shape)
        if (shape.size != spec.shape.size || sizes.any { (size, actual) -> actual == 0 || size !in setOf(-1, actual) }) {
            throw InputError(
                "The input ${quoted(spec.name)} must be ${spec.dtype} ${described(spec.shape)}. Received: shape " +
                    "${described(shape)}."
            )
        }
        val numbers = ArrayList<Number>()
        collect(value, shape, numbers)
        return NumberArray(shape, packed(numbers))
    }

    /** Return the lengths of the first list of each axis. */
    private fun shapeOf(value: Any?): List<Int> = buildList {
        var first = value
        while (true) {
            val list = first as? List<*> ?: break
            add(list.size)
            if (list.isEmpty() || size > spec.shape.size) break
            first = list[0]
        }
    }

    private fun collect(value: Any?, shape: List<Int>, numbers: MutableList<Number>) {
        if (shape.isEmpty()) {
            numbers += number(value)
            return
        }
        val list = value as? List<*>
        if (list == null || list.size != shape[0]) {
            throw InputError(
                "The lists of an axis of the input ${quoted(spec.name)} must have equal lengths. Received: ${shape[0]} " +
                    "and ${list?.size ?: "no list"}."
            )
        }
        val rest = shape.drop(1)
        list.forEach { collect(it, rest, numbers) }
    }

    private fun number(value: Any?): Number {
        val number = if (value is Boolean) (if (value) 1 else 0) else value as? Number
        val real = number?.toDouble() ?: Double.NaN
        val isFloat = spec.dtype == "float32"
        if (if (isFloat) real.toFloat().isFinite() else real.isFinite() && real == Math.floor(real)) return real
        throw InputError(
            "The input ${quoted(spec.name)} must contain ${if (isFloat) "finite" else "integer"} " +
                "${spec.dtype} values. Received: ${number ?: "no number"}."
        )
    }

    /** Convert numbers to the dtype; integers out of range become the nearest ones in range. */
    private fun packed(numbers: List<Number>): Any =
        when (spec.dtype) {
            "float32" -> FloatArray(numbers.size) { numbers[it].toFloat() }
            "int32" -> IntArray(numbers.size) { numbers[it].toDouble().toInt() } // clips to the range
            "uint8" -> ByteArray(numbers.size) { numbers[it].toDouble().coerceIn(0.0, 255.0).toInt().toByte() }
            else -> ByteArray(numbers.size) { numbers[it].toDouble().coerceIn(-128.0, 127.0).toInt().toByte() }
        }
}

private fun zeros(spec: TensorSpec): NumberArray {
    val size = spec.shape.fold(1, Int::times)
    val values: Any =
        when (spec.dtype) {
            "float32" -> FloatArray(size)
            "int32" -> IntArray(size)
            else -> ByteArray(size)
        }
    return NumberArray(spec.shape, values)
}

/** Convert an array to nested lists. */
private fun nested(array: NumberArray): Any {
    var items: List<Any> =
        when (val values = array.values) {
            is FloatArray -> values.asList()
            is IntArray -> values.asList()
            else -> (values as ByteArray).asList()
        }
    for (size in array.shape.drop(1).reversed()) items = items.chunked(size)
    return if (array.shape.isEmpty()) items[0] else items
}

private fun described(shape: List<Int>) = shape.joinToString(", ", "(", ")") { if (it < 0) "any" else it.toString() }
