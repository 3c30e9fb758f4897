package android.content

import android.FakeAndroid

class ComponentName

open class Context {
    @Suppress("UNCHECKED_CAST")
    fun <T> getSystemService(serviceClass: Class<T>): T = serviceClass.newInstance() as T

    fun startService(service: Intent): ComponentName? {
        FakeAndroid.start(service)
        return ComponentName()
    }
}

class Intent(packageContext: Context, val component: Class<*>) {
    var action: String? = null
        private set
    private val extras = mutableMapOf<String, String?>()

    fun setAction(action: String?): Intent {
        this.action = action
        return this
    }

    fun putExtra(name: String, value: String?): Intent {
        extras[name] = value
        return this
    }

    fun getStringExtra(name: String): String? = extras[name]

    companion object {
        const val ACTION_VIEW = "android.intent.action.VIEW"
    }
}
