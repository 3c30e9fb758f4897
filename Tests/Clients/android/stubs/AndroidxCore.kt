// androidx.core:core 1.13
package androidx.core.app

import android.FakeAndroid
import android.app.Notification
import android.app.PendingIntent
import android.app.Service
import android.content.Context

class Person private constructor(val name: CharSequence?) {
    class Builder {
        private var name: CharSequence? = null
        fun setName(name: CharSequence?): Builder = apply { this.name = name }
        fun setImportant(important: Boolean): Builder = this
        fun build() = Person(name)
    }
}

class NotificationManagerCompat private constructor() {
    fun areNotificationsEnabled(): Boolean = FakeAndroid.areNotificationsEnabled

    companion object {
        @JvmStatic
        fun from(context: Context) = NotificationManagerCompat()
    }
}

open class NotificationCompat {
    abstract class Style {
        internal abstract fun apply(notification: Notification)
    }

    class CallStyle private constructor(
        private val kind: String, private val person: Person, private val actions: List<PendingIntent>
    ) : Style() {
        override fun apply(notification: Notification) {
            require(!person.name.isNullOrEmpty()) { "person must have a non-empty a name" }
            notification.style = kind
            notification.actions.addAll(actions)
        }

        companion object {
            @JvmStatic
            fun forIncomingCall(person: Person, declineIntent: PendingIntent, answerIntent: PendingIntent) =
                CallStyle("incoming", person, listOf(declineIntent, answerIntent))

            @JvmStatic
            fun forOngoingCall(person: Person, hangUpIntent: PendingIntent) =
                CallStyle("ongoing", person, listOf(hangUpIntent))
        }
    }

    class Builder(context: Context, channelId: String) {
        private val notification = Notification().apply { channel = channelId }
        fun setStyle(style: Style?): Builder = apply { style?.apply(notification) }
        fun setSmallIcon(icon: Int): Builder = this
        fun setContentTitle(title: CharSequence?): Builder = apply { notification.title = title }
        fun setContentText(text: CharSequence?): Builder = this
        fun setCategory(category: String?): Builder = this
        fun setContentIntent(intent: PendingIntent?): Builder = this
        fun setOngoing(ongoing: Boolean): Builder = this
        fun setAutoCancel(autoCancel: Boolean): Builder = this
        fun setPriority(pri: Int): Builder = this
        fun setFullScreenIntent(intent: PendingIntent?, highPriority: Boolean): Builder =
            apply { notification.fullScreen = intent }
        fun build(): Notification = notification
    }

    companion object {
        const val PRIORITY_MAX = 2
        const val CATEGORY_CALL = "call"
        const val CATEGORY_MISSED_CALL = "missed_call"
    }
}

class ServiceCompat private constructor() {
    companion object {
        const val STOP_FOREGROUND_REMOVE = 1

        @JvmStatic
        fun startForeground(service: Service, id: Int, notification: Notification, foregroundServiceType: Int) {
            FakeAndroid.foreground = notification
        }

        @JvmStatic
        fun stopForeground(service: Service, flags: Int) {
            FakeAndroid.foreground = null
        }
    }
}
