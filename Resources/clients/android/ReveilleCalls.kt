/*
 * Incoming calls of Reveille on Android: an FCM data message of the payload profile `reveille` rings the phone.
 *
 * How it was checked: Tests/Clients compiles this file against hand-written stubs of the Android, Firebase and
 * Core-Telecom API that it uses, and runs it on a JVM with a local HTTP server. It has not been run on a phone.
 *
 * Needs minSdk 26 and these libraries:
 *
 *     androidx.core:core-ktx:1.13.0, androidx.core:core-telecom:1.0.0, com.google.firebase:firebase-messaging:24.0.0,
 *     org.jetbrains.kotlinx:kotlinx-coroutines-android:1.8.0
 *
 * The manifest:
 *
 *     <uses-permission android:name="android.permission.INTERNET" />
 *     <uses-permission android:name="android.permission.POST_NOTIFICATIONS" />
 *     <uses-permission android:name="android.permission.USE_FULL_SCREEN_INTENT" />
 *     <uses-permission android:name="android.permission.MANAGE_OWN_CALLS" />
 *     <uses-permission android:name="android.permission.FOREGROUND_SERVICE" />
 *     <uses-permission android:name="android.permission.FOREGROUND_SERVICE_PHONE_CALL" />
 *     <application>
 *         <service android:name=".MessagingService" android:exported="false">
 *             <intent-filter><action android:name="com.google.firebase.MESSAGING_EVENT" /></intent-filter>
 *         </service>
 *         <service android:name=".CallService" android:exported="false" android:foregroundServiceType="phoneCall" />
 *         <activity android:name=".CallActivity" android:exported="false" android:launchMode="singleTask"
 *             android:showWhenLocked="true" android:turnScreenOn="true" />
 *     </application>
 *
 * For audio, add RECORD_AUDIO, FOREGROUND_SERVICE_MICROPHONE and the service type `microphone`.
 *
 * The article BuildForAndroid of `SignalProtocol` has the steps from the token to the ringing phone.
 */
package com.example.phone

import android.app.Activity
import android.app.Notification
import android.app.NotificationChannel
import android.app.NotificationManager
import android.app.PendingIntent
import android.app.Service
import android.content.Context
import android.content.Intent
import android.content.pm.ServiceInfo
import android.media.AudioAttributes
import android.media.RingtoneManager
import android.net.Uri
import android.os.Build
import android.os.IBinder
import android.os.SystemClock
import android.telecom.DisconnectCause
import androidx.core.app.NotificationCompat
import androidx.core.app.NotificationManagerCompat
import androidx.core.app.Person
import androidx.core.app.ServiceCompat
import androidx.core.content.ContextCompat
import androidx.core.telecom.CallAttributesCompat
import androidx.core.telecom.CallControlResult
import androidx.core.telecom.CallControlScope
import androidx.core.telecom.CallsManager
import com.google.firebase.messaging.FirebaseMessagingService
import com.google.firebase.messaging.RemoteMessage
import java.io.IOException
import java.net.HttpURLConnection
import java.net.URL
import kotlinx.coroutines.*
import org.json.JSONException
import org.json.JSONObject

/** What the app sets, in `Application.onCreate`, and what its call screen calls. */
object ReveilleCalls {
    /** The server, such as `https://calls.example.com`. */
    lateinit var server: String

    /**
     * The call screen. It opens with [Push.EXTRA], and with the action [ANSWER] after a tap on Answer; it then calls
     * [answer]. Android 12 forbids a service to open an activity after a tap on a notification.
     */
    lateinit var screen: Class<out Activity>

    /** A small icon, such as `R.drawable.call`. */
    var icon: Int = 0

    /** The device has a new FCM token: register it with `session.open` or `device.update`. */
    var onToken: (token: String) -> Unit = {}

    /**
     * The call is answered on this device. Open a session with [Push.wakeToken]: its result has the caller's SDP. Send
     * the answer's SDP with `call.update`, and `call.connected` within 20 seconds.
     */
    var onAnswered: (push: Push) -> Unit = {}

    /** The call is over on this device. */
    var onEnded: (push: Push) -> Unit = {}

    const val ANSWER = "reveille.answer"
    const val DECLINE = "reveille.decline"
    const val HANGUP = "reveille.hangup"
    /** The other side has ended the call: the app's session got `call.ended`. */
    const val ENDED = "reveille.ended"
    const val RING = "reveille.ring"

    fun answer(context: Context, push: Push) = tell(context, ANSWER, push)
    fun decline(context: Context, push: Push) = tell(context, DECLINE, push)
    fun hangup(context: Context, push: Push) = tell(context, HANGUP, push)
    fun ended(context: Context, push: Push) = tell(context, ENDED, push)

    private fun tell(context: Context, action: String, push: Push) {
        context.startService(intent(context, action, push))
    }

    internal fun intent(context: Context, action: String, push: Push): Intent =
        Intent(context, CallService::class.java).setAction(action).putExtra(Push.EXTRA, push.json)
}

/** The data of a call's message. FCM makes every value a string. */
class Push(private val data: Map<String, String>) {
    val callId: String get() = data["uuid"].orEmpty()
    val pushId: String get() = data["push_id"].orEmpty()
    val wakeToken: String get() = data["wake_token"].orEmpty()
    val handle: String get() = data["handle"].orEmpty()
    val isPhoneNumber: Boolean get() = data["handle_type"] == "phone"
    /** Never empty: Android refuses a call notification of a person without a name. */
    val callerName: String get() = data["name"]?.takeIf { it.isNotBlank() } ?: handle.ifBlank { "Unknown" }
    val hasVideo: Boolean get() = data["has_video"] == "true"
    val isMissedCall: Boolean get() = data["type"] == "missed_call"
    val isCall: Boolean get() = data["type"] == null && callId.isNotEmpty() && pushId.isNotEmpty()

    /**
     * Milliseconds of ringing that were left when the server sent the push; half a minute if the push does not say. The
     * phone's clock may be wrong.
     */
    val ringTime: Long get() = (data["expires_in"]?.toLongOrNull() ?: 30) * 1000

    val json: String get() = JSONObject(data).toString()

    companion object {
        const val EXTRA = "reveille.push"

        fun of(intent: Intent?): Push? {
            val json = JSONObject(intent?.getStringExtra(EXTRA) ?: return null)
            return Push(json.keys().asSequence().associateWith { json.getString(it) })
        }
    }
}

/** The server's HTTP resources with the wake token of a push. Each call blocks: not for the main thread. */
class ReveilleHTTP(private val server: String, private val push: Push) {
    class Answer(val status: Int, val body: JSONObject) {
        /** The call is over for this device, or it is refused: stop ringing. */
        val isOver: Boolean get() = body.optString("state") == "ended" || status in 400..499 && status != 429
    }

    /** [result] is `reported`, `not_required`, `filtered` or `failed`. After `reported` the caller hears ringback. */
    fun report(result: String, error: String? = null): Answer = request(
        "POST", "/v1/pushes/${push.pushId}/report",
        JSONObject().put("call_id", push.callId).put("result", result).putOpt("error", error?.take(1000))
    )

    /** For a call that the app shows without a push. A report of the push says the same. */
    fun ringing(): Answer = post("ringing")
    fun answer(sdp: String? = null): Answer = post("answer", JSONObject().putOpt("sdp", sdp))
    /** [reason] is `declined`, `busy` or `dnd`. */
    fun decline(reason: String = "declined"): Answer = post("decline", JSONObject().put("reason", reason))
    /** Before the answer this is a decline. */
    fun hangup(): Answer = post("hangup")
    fun call(): Answer = request("GET", "/v1/calls/${push.callId}", null)

    private fun post(verb: String, body: JSONObject = JSONObject()) =
        request("POST", "/v1/calls/${push.callId}/$verb", body)

    /** Every request may be repeated. The status is 0 if no try reached the server. */
    private fun request(method: String, path: String, body: JSONObject?): Answer {
        var last = Answer(0, JSONObject())
        for (attempt in 0 until TRIES) {
            if (attempt > 0) Thread.sleep(PAUSE * attempt)
            try {
                last = send(method, path, body)
                if (last.status != 503 && last.status != 429) return last
            } catch (unreachable: IOException) {
                continue
            }
        }
        return last
    }

    private fun send(method: String, path: String, body: JSONObject?): Answer {
        val connection = URL(server + path).openConnection() as HttpURLConnection
        try {
            connection.requestMethod = method
            connection.connectTimeout = 4000
            connection.readTimeout = 4000
            connection.setRequestProperty("Authorization", "Bearer ${push.wakeToken}")
            if (body != null) {
                val bytes = body.toString().toByteArray()
                connection.doOutput = true
                connection.setFixedLengthStreamingMode(bytes.size)
                connection.setRequestProperty("Content-Type", "application/json")
                connection.outputStream.use { it.write(bytes) }
            }
            val status = connection.responseCode
            val stream = if (status < 400) connection.inputStream else connection.errorStream
            val text = stream?.use { it.reader().readText() }.orEmpty()
            return Answer(status, try { JSONObject(text) } catch (other: JSONException) { JSONObject() })
        } finally {
            connection.disconnect()
        }
    }

    private companion object {
        const val TRIES = 3
        const val PAUSE = 500L
    }
}

/** Takes the data messages. FCM runs it on a worker thread, for up to 20 seconds. */
class MessagingService : FirebaseMessagingService() {
    override fun onNewToken(token: String) = ReveilleCalls.onToken(token)

    override fun onMessageReceived(message: RemoteMessage) {
        val push = Push(message.data)
        if (push.isMissedCall) return CallNotifications(this).showMissed(push)
        if (!push.isCall) return
        val http = ReveilleHTTP(ReveilleCalls.server, push)
        // A message that comes late rings until the server has answered its report.
        if (push.ringTime <= 0) {
            http.report("not_required")
            return
        }
        if (!NotificationManagerCompat.from(this).areNotificationsEnabled()) {
            http.report("failed", "notifications are off for this app")
            return
        }
        try {
            ContextCompat.startForegroundService(this, ReveilleCalls.intent(this, ReveilleCalls.RING, push))
        } catch (refused: IllegalStateException) {
            // Android 12: ForegroundServiceStartNotAllowedException, if FCM has lowered the priority of the message.
            http.report("failed", "priority ${message.priority} of ${message.originalPriority}: ${refused.message}")
        }
    }
}

/** One call, from ringing to its end, with its notification and with Telecom. */
class CallService : Service() {
    private val scope = CoroutineScope(SupervisorJob() + Dispatchers.Main)
    private lateinit var telecom: CallsManager
    private lateinit var notifications: CallNotifications
    private var live: LiveCall? = null
    private var tasks = 0

    override fun onCreate() {
        super.onCreate()
        notifications = CallNotifications(this)
        telecom = CallsManager(this)
        telecom.registerAppWithTelecom(
            CallsManager.CAPABILITY_BASELINE or CallsManager.CAPABILITY_SUPPORTS_VIDEO_CALLING
        )
    }

    override fun onBind(intent: Intent?): IBinder? = null

    override fun onDestroy() {
        scope.coroutineContext.cancel()
        super.onDestroy()
    }

    override fun onStartCommand(intent: Intent?, flags: Int, startId: Int): Int {
        val push = Push.of(intent)
        val known = live?.takeIf { it.push.callId == push?.callId }
        when {
            push == null -> if (live == null) stopSelf()
            intent?.action == ReveilleCalls.RING -> ring(push)
            // The process has been killed since it rang: the server still learns what the user wants.
            known == null -> task { settle(push, intent?.action) }
            else -> task { known.act(intent?.action) }
        }
        return START_NOT_STICKY
    }

    /** Runs on the main thread. The service stops after the last task, when no call is left. */
    private fun task(block: suspend () -> Unit) {
        tasks += 1
        scope.launch {
            try {
                block()
            } finally {
                tasks -= 1
                if (tasks == 0 && live == null) stopSelf()
            }
        }
    }

    private fun ring(push: Push) {
        val other = live
        // Android ends an app whose service has started and does not come to the foreground within seconds.
        foreground(notifications.incoming(other?.push ?: push))
        if (other == null) {
            val call = LiveCall(push)
            live = call
            task { call.run() }
        } else if (other.push.callId != push.callId) {
            task {
                withContext(Dispatchers.IO) {
                    val http = ReveilleHTTP(ReveilleCalls.server, push)
                    http.report("not_required")
                    http.decline("busy")
                }
            }
        }
    }

    private fun foreground(notification: Notification) =
        ServiceCompat.startForeground(
            this, CallNotifications.ID, notification, ServiceInfo.FOREGROUND_SERVICE_TYPE_PHONE_CALL
        )

    private suspend fun settle(push: Push, action: String?) {
        val http = ReveilleHTTP(ReveilleCalls.server, push)
        if (action == ReveilleCalls.ANSWER) {
            val answer = withContext(Dispatchers.IO) { http.answer() }
            if (answer.status == 200) ReveilleCalls.onAnswered(push) else ReveilleCalls.onEnded(push)
        } else {
            withContext(Dispatchers.IO) { http.hangup() }
            ReveilleCalls.onEnded(push)
        }
    }

    private inner class LiveCall(val push: Push) {
        private val http = ReveilleHTTP(ReveilleCalls.server, push)
        private val control = CompletableDeferred<CallControlScope>()
        private val callType =
            if (push.hasVideo) CallAttributesCompat.CALL_TYPE_VIDEO_CALL else CallAttributesCompat.CALL_TYPE_AUDIO_CALL
        private val ringsUntil = SystemClock.elapsedRealtime() + push.ringTime
        private var phase = Phase.RINGING

        /** Gives the call to Telecom, and returns at its end. If Telecom refuses it, the report of the push says so. */
        suspend fun run() {
            val attributes = CallAttributesCompat(
                push.callerName, Uri.fromParts(if (push.isPhoneNumber) "tel" else "sip", push.handle, null),
                CallAttributesCompat.DIRECTION_INCOMING, callType
            )
            try {
                telecom.addCall(
                    attributes,
                    onAnswer = { answer() },
                    onDisconnect = { hangup() },
                    onSetActive = {},
                    onSetInactive = {}
                ) {
                    control.complete(this)
                    launch { ring() }
                }
            } catch (error: Exception) {
                if (!control.isCompleted) {
                    withContext(NonCancellable + Dispatchers.IO) { http.report("failed", "addCall: $error") }
                }
                finish(null)
            }
        }

        /** Reports the push, then rings until an answer, the end of the call, or its deadline. */
        private suspend fun ring() {
            if (withContext(Dispatchers.IO) { http.report("reported") }.isOver) return finish(DisconnectCause.REMOTE)
            // The server never pushes that a call has ended. An app with a session gets call.ended instead of asking.
            while (phase == Phase.RINGING) {
                val remaining = ringsUntil - SystemClock.elapsedRealtime()
                if (remaining <= 0) return finish(DisconnectCause.MISSED)
                delay(minOf(remaining, ASK_EVERY))
                if (phase == Phase.RINGING && withContext(Dispatchers.IO) { http.call() }.isOver) {
                    return finish(DisconnectCause.REMOTE)
                }
            }
        }

        suspend fun act(action: String?) {
            when (action) {
                ReveilleCalls.ANSWER -> {
                    if (!answer()) return
                    if (control.await().answer(callType) is CallControlResult.Error) hangup()
                }
                ReveilleCalls.DECLINE, ReveilleCalls.HANGUP -> {
                    val cause = if (phase == Phase.RINGING) DisconnectCause.REJECTED else DisconnectCause.LOCAL
                    hangup(cause)
                }
                ReveilleCalls.ENDED -> finish(DisconnectCause.REMOTE)
            }
        }

        /** Asks the server for the call: false if another device has it, or it is over. */
        private suspend fun answer(): Boolean {
            if (phase != Phase.RINGING) return false
            phase = Phase.ANSWERED
            if (withContext(Dispatchers.IO) { http.answer() }.status != 200) {
                finish(DisconnectCause.REMOTE)
                return false
            }
            foreground(notifications.ongoing(push))
            ReveilleCalls.onAnswered(push)
            return true
        }

        private suspend fun hangup(cause: Int? = null) {
            if (phase == Phase.OVER) return
            finish(cause)
            withContext(NonCancellable + Dispatchers.IO) { http.hangup() }
        }

        /** [cause] is null if Telecom knows. Telecom takes LOCAL, REMOTE, REJECTED and MISSED. */
        private suspend fun finish(cause: Int?) {
            if (phase == Phase.OVER) return
            phase = Phase.OVER
            live = null
            ServiceCompat.stopForeground(this@CallService, ServiceCompat.STOP_FOREGROUND_REMOVE)
            ReveilleCalls.onEnded(push)
            if (cause != null) withContext(NonCancellable) { control.await().disconnect(DisconnectCause(cause)) }
        }
    }

    private enum class Phase { RINGING, ANSWERED, OVER }

    private companion object {
        const val ASK_EVERY = 2000L
    }
}

/** The notifications of calls and their channels. */
class CallNotifications(private val context: Context) {
    private val manager = context.getSystemService(NotificationManager::class.java)

    init {
        val ringtone = AudioAttributes.Builder().setUsage(AudioAttributes.USAGE_NOTIFICATION_RINGTONE).build()
        val calls = NotificationChannel(CALLS, "Incoming calls", NotificationManager.IMPORTANCE_HIGH)
        calls.setSound(RingtoneManager.getDefaultUri(RingtoneManager.TYPE_RINGTONE), ringtone)
        calls.enableVibration(true)
        manager.createNotificationChannel(calls)
        val quiet = NotificationChannel(QUIET, "Calls", NotificationManager.IMPORTANCE_DEFAULT)
        quiet.setSound(null, null)
        manager.createNotificationChannel(quiet)
    }

    fun incoming(push: Push): Notification {
        val builder = builder(CALLS, push)
            .setStyle(
                NotificationCompat.CallStyle.forIncomingCall(
                    person(push), service(ReveilleCalls.DECLINE, push), activity(ReveilleCalls.ANSWER, push)
                )
            )
            .setPriority(NotificationCompat.PRIORITY_MAX)
        // Since Android 14 only calling and alarm apps have it by default. Without it the call is a heads-up.
        if (Build.VERSION.SDK_INT < 34 || manager.canUseFullScreenIntent()) {
            builder.setFullScreenIntent(activity(Intent.ACTION_VIEW, push), true)
        }
        val notification = builder.build()
        // Repeats the ringtone until the notification is gone.
        notification.flags = notification.flags or Notification.FLAG_INSISTENT
        return notification
    }

    fun ongoing(push: Push): Notification = builder(QUIET, push)
        .setStyle(NotificationCompat.CallStyle.forOngoingCall(person(push), service(ReveilleCalls.HANGUP, push)))
        .build()

    fun showMissed(push: Push) {
        val notification = NotificationCompat.Builder(context, QUIET)
            .setSmallIcon(ReveilleCalls.icon)
            .setContentTitle(push.callerName)
            .setContentText("Missed call")
            .setCategory(NotificationCompat.CATEGORY_MISSED_CALL)
            .setContentIntent(activity(Intent.ACTION_VIEW, push))
            .setAutoCancel(true)
            .build()
        manager.notify(push.callId, ID, notification)
    }

    private fun builder(channel: String, push: Push) = NotificationCompat.Builder(context, channel)
        .setSmallIcon(ReveilleCalls.icon)
        .setContentTitle(push.callerName)
        .setCategory(NotificationCompat.CATEGORY_CALL)
        .setContentIntent(activity(Intent.ACTION_VIEW, push))
        .setOngoing(true)

    private fun person(push: Push) = Person.Builder().setName(push.callerName).setImportant(true).build()

    private fun activity(action: String, push: Push): PendingIntent {
        val intent = Intent(context, ReveilleCalls.screen).setAction(action).putExtra(Push.EXTRA, push.json)
        return PendingIntent.getActivity(context, push.callId.hashCode(), intent, FLAGS)
    }

    private fun service(action: String, push: Push) = PendingIntent.getService(
        context, push.callId.hashCode(), ReveilleCalls.intent(context, action, push), FLAGS
    )

    companion object {
        const val ID = 7350
        const val CALLS = "reveille.calls"
        const val QUIET = "reveille.quiet"
        private const val FLAGS = PendingIntent.FLAG_UPDATE_CURRENT or PendingIntent.FLAG_IMMUTABLE
    }
}
