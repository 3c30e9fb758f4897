// Runs Resources/clients/android/ReveilleCalls.kt on a JVM: the stubs are the phone, a local HTTP server is Reveille.

import android.Changes
import android.FakeAndroid
import android.app.Activity
import android.telecom.DisconnectCause
import androidx.core.telecom.FakeTelecom
import com.example.phone.CallService
import com.example.phone.MessagingService
import com.example.phone.Push
import com.example.phone.ReveilleCalls
import com.google.firebase.messaging.RemoteMessage
import com.sun.net.httpserver.HttpExchange
import com.sun.net.httpserver.HttpServer
import java.net.InetSocketAddress
import java.util.Collections
import kotlinx.coroutines.runBlocking
import org.json.JSONObject

const val CALL = "3554fbe6-9e3d-44fc-aaea-8955b60bb83f"
const val PUSH = "05a35c92-42f0-4f0e-b3c1-0c4d8a2f7e11"

class Request(val line: String, val token: String?, val body: String)

/** Answers by the requests' paths, and keeps the requests. */
class Server {
    val requests = Collections.synchronizedList(mutableListOf<Request>())
    val answers = mutableMapOf<String, Pair<Int, String>>()
    private val server = HttpServer.create(InetSocketAddress("127.0.0.1", 0), 0)
    val url: String get() = "http://127.0.0.1:${server.address.port}"

    init {
        server.createContext("/") { take(it) }
        server.start()
    }

    private fun take(exchange: HttpExchange) {
        val body = exchange.requestBody.reader().readText()
        val line = "${exchange.requestMethod} ${exchange.requestURI}"
        requests.add(Request(line, exchange.requestHeaders.getFirst("Authorization"), body))
        Changes.changed()
        val (status, text) = answers[line] ?: Pair(200, """{"state":"ringing","remaining_ms":20000}""")
        if (status == 503 || status == 429) answers.remove(line)
        val bytes = text.toByteArray()
        exchange.sendResponseHeaders(status, bytes.size.toLong())
        exchange.responseBody.use { it.write(bytes) }
    }

    fun stop() = server.stop(0)
}

const val REPORT = "POST /v1/pushes/$PUSH/report"
fun call(verb: String) = "POST /v1/calls/$CALL/$verb"

class Phone {
    val server = Server()
    val messaging = MessagingService()
    @Volatile var answered = 0
        private set(value) {
            field = value
            Changes.changed()
        }
    @Volatile var ended = 0
        private set(value) {
            field = value
            Changes.changed()
        }

    init {
        FakeAndroid.areNotificationsEnabled = true
        FakeAndroid.canUseFullScreenIntent = true
        FakeAndroid.foregroundRefusal = null
        FakeAndroid.makeService = { CallService() }
        FakeAndroid.posted.clear()
        FakeTelecom.refusal = null
        FakeTelecom.calls.clear()
        ReveilleCalls.server = server.url
        ReveilleCalls.screen = Activity::class.java
        ReveilleCalls.onAnswered = { answered += 1 }
        ReveilleCalls.onEnded = { ended += 1 }
    }

    /** [fast]: how many seconds the phone's clock is ahead of the server's. */
    fun data(left: Int = 45, fast: Int = 0, call: String = CALL, push: String = PUSH) = mapOf(
        "uuid" to call, "handle" to "alice", "handle_type" to "generic", "has_video" to "false", "push_id" to push,
        "expires_at" to "${System.currentTimeMillis() + (left - fast) * 1000}", "expires_in" to "$left",
        "wake_token" to "wake1.abc"
    )

    fun receive(data: Map<String, String> = data()) = messaging.onMessageReceived(RemoteMessage(data))
    fun lines() = server.requests.map { it.line }
    fun telecomCall() = FakeTelecom.calls.single()

    fun await(what: String, condition: () -> Boolean) {
        if (!Changes.await(5000, condition)) throw AssertionError("in vain: $what; ${lines()}")
    }

    /** The phone rings, and the server knows. */
    fun ringing(): Push {
        receive()
        await("reported") { REPORT in lines() }
        return Push(data())
    }
}

fun check(condition: Boolean, what: () -> String) {
    if (!condition) throw AssertionError(what())
}

val tests = linkedMapOf<String, (Phone) -> Unit>(
    "a call's message rings with a call notification, full screen, and is reported" to { phone ->
        phone.ringing()
        val request = phone.server.requests.first { it.line == REPORT }
        check(request.token == "Bearer wake1.abc") { "${request.token}" }
        check(JSONObject(request.body).getString("call_id") == CALL) { request.body }
        check(JSONObject(request.body).getString("result") == "reported") { request.body }
        val notification = FakeAndroid.foreground!!
        check(notification.style == "incoming" && notification.title == "alice") { notification.style }
        check(notification.fullScreen != null) { "no full-screen intent" }
        check(notification.actions.map { it.kind } == listOf("service", "activity")) { "${notification.actions}" }
        check(phone.telecomCall().attributes.address.toString() == "sip:alice") { "address" }
    },
    "without permission it is no full-screen intent" to { phone ->
        FakeAndroid.canUseFullScreenIntent = false
        phone.ringing()
        check(FakeAndroid.foreground!!.fullScreen == null) { "a full-screen intent" }
    },
    "an answer goes to the server, then to Telecom, and the app starts media" to { phone ->
        val push = phone.ringing()
        ReveilleCalls.answer(phone.messaging, push)
        phone.await("answered") { phone.answered == 1 && phone.telecomCall().isAnswered }
        check(call("answer") in phone.lines()) { "${phone.lines()}" }
        check(FakeAndroid.foreground!!.style == "ongoing") { FakeAndroid.foreground!!.style }
        ReveilleCalls.hangup(phone.messaging, push)
        phone.await("hung up") { call("hangup") in phone.lines() && FakeAndroid.isStopped }
        check(phone.telecomCall().cause == DisconnectCause.LOCAL) { "${phone.telecomCall().cause}" }
        check(phone.ended == 1) { "ended ${phone.ended}" }
    },
    "an answer by a headset goes to the server too" to { phone ->
        phone.ringing()
        runBlocking { phone.telecomCall().onAnswer(1) }
        phone.await("answered") { phone.answered == 1 }
    },
    "an answer that comes second stops the ringing" to { phone ->
        phone.server.answers[call("answer")] = Pair(409, """{"code":-32005,"data":{"code":"already_answered"}}""")
        val push = phone.ringing()
        ReveilleCalls.answer(phone.messaging, push)
        phone.await("over") { FakeAndroid.isStopped }
        check(phone.telecomCall().cause == DisconnectCause.REMOTE && phone.answered == 0) { "answered" }
        check(call("hangup") !in phone.lines()) { "${phone.lines()}" }
    },
    "a tap on Decline is a hangup before the answer" to { phone ->
        val push = phone.ringing()
        ReveilleCalls.decline(phone.messaging, push)
        phone.await("declined") { call("hangup") in phone.lines() && FakeAndroid.isStopped }
        check(phone.telecomCall().cause == DisconnectCause.REJECTED) { "${phone.telecomCall().cause}" }
        check(FakeAndroid.foreground == null) { "the notification is left" }
    },
    "a call that is over while it rings stops ringing" to { phone ->
        phone.server.answers["GET /v1/calls/$CALL"] = Pair(200, """{"state":"ended","reason":"cancelled"}""")
        phone.ringing()
        phone.await("over") { FakeAndroid.isStopped }
        check(phone.telecomCall().cause == DisconnectCause.REMOTE) { "${phone.telecomCall().cause}" }
    },
    "a call that was over at the report stops ringing" to { phone ->
        phone.server.answers[REPORT] = Pair(200, """{"state":"ended","reason":"answered_elsewhere"}""")
        phone.ringing()
        phone.await("over") { FakeAndroid.isStopped }
    },
    "a call rings no longer than the server lets it" to { phone ->
        phone.receive(phone.data(left = 1))
        phone.await("over") { FakeAndroid.isStopped }
        check(phone.telecomCall().cause == DisconnectCause.MISSED) { "${phone.telecomCall().cause}" }
        check(phone.lines().none { it.startsWith(call("")) }) { "${phone.lines()}" }
    },
    "an expired push is reported and does not ring" to { phone ->
        phone.receive(phone.data(left = 0))
        check(phone.lines() == listOf(REPORT)) { "${phone.lines()}" }
        check(phone.server.requests[0].body.contains("not_required")) { phone.server.requests[0].body }
        check(FakeTelecom.calls.isEmpty()) { "it rings" }
    },
    "a push that does not say how long it rings, rings for half a minute" to { phone ->
        for (value in listOf(null, "", "soon", "1.5", "99999999999999999999")) {
            val data = if (value == null) phone.data() - "expires_in" else phone.data() + ("expires_in" to value)
            check(Push(data).ringTime == 30_000L) { "$value: ${Push(data).ringTime}" }
        }
        phone.receive(phone.data() - "expires_in")
        phone.await("reported") { REPORT in phone.lines() }
        check(phone.server.requests[0].body.contains("\"reported\"")) { phone.server.requests[0].body }
        phone.await("asks while it rings") { "GET /v1/calls/$CALL" in phone.lines() }
    },
    "a phone's clock that is 5 minutes fast keeps no call from the screen" to { phone ->
        phone.receive(phone.data(fast = 300))
        phone.await("reported") { REPORT in phone.lines() }
        check(phone.lines() == listOf(REPORT)) { "${phone.lines()}" }
        check(phone.server.requests[0].body.contains("\"reported\"")) { phone.server.requests[0].body }
        phone.await("asks while it rings") { "GET /v1/calls/$CALL" in phone.lines() }
        check(FakeAndroid.foreground?.style == "incoming") { "it does not ring" }
    },
    "a phone's clock that is 30 seconds fast shortens no ringing" to { phone ->
        phone.receive(phone.data(left = 30, fast = 29))
        // The phone asks every two seconds as long as it rings.
        phone.await("asks") { "GET /v1/calls/$CALL" in phone.lines() }
        check(FakeAndroid.foreground?.style == "incoming") { "it does not ring" }
    },
    "a phone's clock that is 5 minutes slow rings no longer than the server lets it" to { phone ->
        phone.receive(phone.data(left = 1, fast = -300))
        phone.await("over") { FakeAndroid.isStopped }
        check(phone.telecomCall().cause == DisconnectCause.MISSED) { "${phone.telecomCall().cause}" }
    },
    "what keeps a call from the screen is in the report" to { phone ->
        FakeAndroid.areNotificationsEnabled = false
        phone.receive()
        FakeAndroid.areNotificationsEnabled = true
        FakeAndroid.foregroundRefusal = IllegalStateException("not allowed")
        phone.receive()
        FakeAndroid.foregroundRefusal = null
        FakeTelecom.refusal = RuntimeException("code 5")
        phone.receive()
        phone.await("three reports") { phone.lines().count { it == REPORT } == 3 && FakeAndroid.isStopped }
        val bodies = phone.server.requests.map { JSONObject(it.body) }
        check(bodies.all { it.getString("result") == "failed" }) { "$bodies" }
        val errors = bodies.map { it.getString("error") }
        check("notifications" in errors[0] && "not allowed" in errors[1] && "code 5" in errors[2]) { "$errors" }
    },
    "a second call is busy" to { phone ->
        phone.ringing()
        val other = CALL.replace("3554", "9999")
        phone.receive(phone.data(call = other, push = PUSH.replace("05a3", "9999")))
        phone.await("busy") { "POST /v1/calls/$other/decline" in phone.lines() }
        check(phone.server.requests.last().body == """{"reason":"busy"}""") { phone.server.requests.last().body }
        check(FakeTelecom.calls.size == 1 && FakeAndroid.foreground?.style == "incoming") { "two calls" }
    },
    "a tap in a process that has not seen the call still reaches the server" to { phone ->
        ReveilleCalls.decline(phone.messaging, Push(phone.data()))
        phone.await("declined") { call("hangup") in phone.lines() && FakeAndroid.isStopped }
    },
    "an overloaded server is asked again" to { phone ->
        phone.server.answers[REPORT] = Pair(503, """{"code":-32011}""")
        phone.ringing()
        phone.await("twice") { phone.lines().count { it == REPORT } == 2 }
    },
    "a server that is asked too often is asked again, and the call goes on" to { phone ->
        phone.server.answers[REPORT] = Pair(429, """{"code":-32007}""")
        phone.ringing()
        phone.await("twice") { phone.lines().count { it == REPORT } == 2 }
        phone.server.answers[call("answer")] = Pair(429, """{"code":-32007}""")
        runBlocking { phone.telecomCall().onAnswer(1) }
        phone.await("answered") { phone.answered == 1 }
        check(phone.lines().count { it == call("answer") } == 2) { "${phone.lines()}" }
        check(phone.ended == 0) { "${phone.ended}" }
    },
    "a missed call is a notification, and other messages are the app's" to { phone ->
        phone.receive(phone.data() + mapOf("type" to "missed_call"))
        phone.receive(mapOf("type" to "sync"))
        phone.receive(mapOf("chat" to "hello"))
        check(FakeAndroid.posted.single().title == "alice") { "${FakeAndroid.posted}" }
        check(phone.lines().isEmpty()) { "${phone.lines()}" }
    }
)

fun main() {
    var failed = 0
    for ((name, test) in tests) {
        val phone = Phone()
        try {
            test(phone)
            println("ok      $name")
        } catch (error: Throwable) {
            failed += 1
            println("FAILED  $name: $error")
        }
        // A call that is left ends before the next test begins.
        if (FakeAndroid.service != null) {
            val ended = phone.ended
            val isLive = FakeAndroid.foreground != null
            FakeAndroid.stop()
            if (isLive) phone.await("the call left ends") { phone.ended > ended }
        }
        phone.server.stop()
    }
    println("${tests.size - failed} passed, $failed failed")
    System.exit(if (failed == 0) 0 else 1)
}
