package android.os

interface IBinder

object SystemClock {
    fun elapsedRealtime(): Long = System.nanoTime() / 1_000_000
}

open class Build {
    class VERSION {
        companion object {
            @JvmField val SDK_INT = 34
        }
    }
}
