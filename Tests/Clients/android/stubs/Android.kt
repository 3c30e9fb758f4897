// Stubs of the Android API that ReveilleCalls.kt uses, with the names and types of Android's reference. They record
// what the sample does. `FakeAndroid` is the phone.

package android

import android.app.Notification
import android.app.Service
import android.content.Intent
import java.util.concurrent.TimeUnit
import java.util.concurrent.locks.ReentrantLock
import kotlin.concurrent.withLock

/** Wakes the test when a stand-in changes. */
object Changes {
    private val lock = ReentrantLock()
    private val change = lock.newCondition()

    /** Called after each change that a test waits for. Any thread. */
    fun changed() = lock.withLock { change.signalAll() }

    /** Returns false if [condition] does not hold within the time. */
    fun await(milliseconds: Long, condition: () -> Boolean): Boolean = lock.withLock {
        var left = TimeUnit.MILLISECONDS.toNanos(milliseconds)
        while (!condition()) {
            if (left <= 0) return false
            left = change.awaitNanos(left)
        }
        true
    }
}

object FakeAndroid {
    var areNotificationsEnabled = true
    var canUseFullScreenIntent = true
    /** What startForegroundService throws. */
    var foregroundRefusal: RuntimeException? = null
    var service: Service? = null
    var foreground: Notification? = null
        set(value) {
            field = value
            Changes.changed()
        }
    var isStopped = false
        set(value) {
            field = value
            Changes.changed()
        }
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
