package android.os

interface IBinder

open class Build {
    class VERSION {
        companion object {
            @JvmField val SDK_INT = 34
        }
    }
}
