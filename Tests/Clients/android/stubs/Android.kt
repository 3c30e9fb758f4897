// Stubs of the Android API that ReveilleCalls.kt uses, with the names and types of Android's reference. They record
// what the sample does. `FakeAndroid` is the phone.

package android

import android.app.Notification
import android.app.Service
import android.content.Intent

object FakeAndroid {
    var areNotificationsEnabled = true
    var canUseFullScreenIntent = true
    /** What startForegroundService throws. */
    var foregroundRefusal: RuntimeException? = null
    var service: Service? = null
    var foreground: Notification? = null
    var isStopped = false
    val posted = mutableListOf<Notification>()
    /** Makes the service of a class. */
    lateinit var makeService: () -> Service

    @Synchronized
    fun start(intent: Intent) {
        val running = service ?: makeService().also {
            service = it
            isStopped = false
            it.onCreate()
        }
        running.onStartCommand(intent, 0, 1)
    }

    @Synchronized
    fun stop() {
        service?.onDestroy()
        service = null
        isStopped = true
    }
}
