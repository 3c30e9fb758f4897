package android.telecom

class DisconnectCause(val code: Int) {
    companion object {
        const val LOCAL = 2
        const val REMOTE = 3
        const val MISSED = 5
        const val REJECTED = 6
    }
}
