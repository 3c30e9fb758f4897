package android.content.pm

open class ServiceInfo {
    companion object {
        const val FOREGROUND_SERVICE_TYPE_PHONE_CALL = 4
    }
}
