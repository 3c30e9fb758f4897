package androidx.core.content

import android.FakeAndroid
import android.content.Context
import android.content.Intent

open class ContextCompat {
    companion object {
        @JvmStatic
        fun startForegroundService(context: Context, intent: Intent) {
            FakeAndroid.foregroundRefusal?.let { throw it }
            FakeAndroid.start(intent)
        }
    }
}
