package android.net

class Uri private constructor(private val text: String) {
    override fun toString() = text

    companion object {
        @JvmStatic
        fun fromParts(scheme: String, ssp: String, fragment: String?) = Uri("$scheme:$ssp")
    }
}
