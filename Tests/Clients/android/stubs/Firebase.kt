// com.google.firebase:firebase-messaging 24
package com.google.firebase.messaging

import android.app.Service
import android.content.Intent
import android.os.IBinder

class RemoteMessage(val data: Map<String, String>, val priority: Int = 1, val originalPriority: Int = 1)

abstract class FirebaseMessagingService : Service() {
    override fun onBind(intent: Intent?): IBinder? = null
    open fun onMessageReceived(message: RemoteMessage) {}
    open fun onNewToken(token: String) {}
}
