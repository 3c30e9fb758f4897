package android.media

import android.net.Uri

class AudioAttributes {
    class Builder {
        fun setUsage(usage: Int): Builder = this
        fun build() = AudioAttributes()
    }

    companion object {
        const val USAGE_NOTIFICATION_RINGTONE = 6
    }
}

open class RingtoneManager {
    companion object {
        const val TYPE_RINGTONE = 1

        @JvmStatic
        fun getDefaultUri(type: Int): Uri? = null
    }
}
