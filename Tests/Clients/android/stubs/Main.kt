// The main thread, as kotlinx-coroutines-android has it. META-INF/services names the factory.
@file:Suppress("INVISIBLE_MEMBER", "INVISIBLE_REFERENCE")

package android.stubs

import java.util.concurrent.Executors
import kotlin.coroutines.CoroutineContext
import kotlinx.coroutines.InternalCoroutinesApi
import kotlinx.coroutines.MainCoroutineDispatcher
import kotlinx.coroutines.Runnable
import kotlinx.coroutines.internal.MainDispatcherFactory

class MainThread : MainCoroutineDispatcher() {
    private val thread = Executors.newSingleThreadExecutor { Thread(it, "main").apply { isDaemon = true } }
    override val immediate: MainCoroutineDispatcher get() = this
    override fun dispatch(context: CoroutineContext, block: Runnable) = thread.execute(block)
}

@InternalCoroutinesApi
class MainThreadFactory : MainDispatcherFactory {
    override val loadPriority: Int get() = 0
    override fun createDispatcher(): MainCoroutineDispatcher = MainThread()
}
