// androidx.core:core-telecom 1.0.0, from its api/1.0.0-beta01.txt
package androidx.core.telecom

import android.Changes
import android.content.Context
import android.net.Uri
import android.telecom.DisconnectCause
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.coroutineScope

class CallAttributesCompat(
    val displayName: CharSequence, val address: Uri, val direction: Int, val callType: Int = CALL_TYPE_AUDIO_CALL,
    val callCapabilities: Int = 2
) {
    companion object {
        const val DIRECTION_INCOMING = 1
        const val CALL_TYPE_AUDIO_CALL = 1
        const val CALL_TYPE_VIDEO_CALL = 2
    }
}

sealed class CallControlResult {
    class Success : CallControlResult()
    class Error(val errorCode: Int) : CallControlResult()
}

interface CallControlScope : CoroutineScope {
    suspend fun answer(callType: Int): CallControlResult
    suspend fun setActive(): CallControlResult
    suspend fun setInactive(): CallControlResult
    suspend fun disconnect(disconnectCause: DisconnectCause): CallControlResult
}

class CallsManager(context: Context) {
    fun registerAppWithTelecom(capabilities: Int) {}

    suspend fun addCall(
        callAttributes: CallAttributesCompat,
        onAnswer: suspend (callType: Int) -> Unit,
        onDisconnect: suspend (disconnectCause: DisconnectCause) -> Unit,
        onSetActive: suspend () -> Unit,
        onSetInactive: suspend () -> Unit,
        block: CallControlScope.() -> Unit
    ) {
        FakeTelecom.refusal?.let { throw it }
        coroutineScope {
            val call = FakeTelecom.Call(callAttributes, onAnswer, onDisconnect, this)
            FakeTelecom.calls.add(call)
            Changes.changed()
            call.block()
            call.end.await()
        }
    }

    companion object {
        const val CAPABILITY_BASELINE = 1
        const val CAPABILITY_SUPPORTS_VIDEO_CALLING = 2
    }
}

/** The system's side of calls. */
object FakeTelecom {
    var refusal: RuntimeException? = null
    val calls = java.util.Collections.synchronizedList(mutableListOf<Call>())

    class Call(
        val attributes: CallAttributesCompat, val onAnswer: suspend (Int) -> Unit,
        val onDisconnect: suspend (DisconnectCause) -> Unit, scope: CoroutineScope
    ) : CallControlScope, CoroutineScope by scope {
        val end = CompletableDeferred<Unit>()
        @Volatile var isAnswered = false
        @Volatile var cause: Int? = null

        override suspend fun answer(callType: Int): CallControlResult {
            isAnswered = true
            Changes.changed()
            return CallControlResult.Success()
        }

        override suspend fun setActive() = CallControlResult.Success()
        override suspend fun setInactive() = CallControlResult.Success()

        override suspend fun disconnect(disconnectCause: DisconnectCause): CallControlResult {
            cause = disconnectCause.code
            Changes.changed()
            end.complete(Unit)
            return CallControlResult.Success()
        }
    }
}
