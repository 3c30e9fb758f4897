package android.app

import android.FakeAndroid
import android.content.Context
import android.content.Intent
import android.media.AudioAttributes
import android.net.Uri
import android.os.IBinder

open class Activity : Context()

abstract class Service : Context() {
    open fun onCreate() {}
    abstract fun onBind(intent: Intent?): IBinder?
    open fun onStartCommand(intent: Intent?, flags: Int, startId: Int): Int = START_STICKY
    open fun onDestroy() {}
    fun stopSelf() = FakeAndroid.stop()

    companion object {
        const val START_STICKY = 1
        const val START_NOT_STICKY = 2
    }
}

open class Notification {
    @JvmField var flags = 0
    var channel = ""
    var title: CharSequence? = null
    var style = ""
    var fullScreen: PendingIntent? = null
    val actions = mutableListOf<PendingIntent>()

    companion object {
        const val FLAG_INSISTENT = 4
    }
}

class NotificationChannel(val id: String, val name: CharSequence, val importance: Int) {
    fun setSound(sound: Uri?, audioAttributes: AudioAttributes?) {}
    fun enableVibration(vibration: Boolean) {}
}

class NotificationManager {
    fun createNotificationChannel(channel: NotificationChannel) {}
    fun canUseFullScreenIntent(): Boolean = FakeAndroid.canUseFullScreenIntent
    fun notify(tag: String?, id: Int, notification: Notification) {
        FakeAndroid.posted.add(notification)
    }

    companion object {
        const val IMPORTANCE_DEFAULT = 3
        const val IMPORTANCE_HIGH = 4
    }
}

class PendingIntent private constructor(val kind: String, val intent: Intent) {
    companion object {
        const val FLAG_UPDATE_CURRENT = 1 shl 27
        const val FLAG_IMMUTABLE = 1 shl 26

        @JvmStatic
        fun getActivity(context: Context, requestCode: Int, intent: Intent, flags: Int) =
            PendingIntent("activity", intent)

        @JvmStatic
        fun getService(context: Context, requestCode: Int, intent: Intent, flags: Int) =
            PendingIntent("service", intent)
    }
}
