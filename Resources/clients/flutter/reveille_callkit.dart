/// Connects flutter_callkit_incoming 3.1 with Reveille. The device's push token has the payload profile
/// `callkit_incoming`.
///
///     final calls = ReveilleCallkit('https://calls.example.com', onAnswered: openSession);
///
///     void main() {
///       WidgetsFlutterBinding.ensureInitialized();
///       calls.start();
///       // Android: data messages, and taps while the app does not run.
///       FirebaseMessaging.onMessage.listen(onMessage);
///       FirebaseMessaging.onBackgroundMessage(onMessage);
///       FlutterCallkitIncoming.onBackgroundMessage(onCallEvent);
///       …
///     }
///
///     @pragma('vm:entry-point')
///     Future<void> onMessage(RemoteMessage message) => calls.incoming(message.data);
///
///     @pragma('vm:entry-point')
///     Future<void> onCallEvent(CallEvent event) => calls.handle(event);
///
/// On iOS the AppDelegate has to pass the whole payload on, or `extra` does not reach Dart:
/// `let data = flutter_callkit_incoming.Data(args: payload.dictionaryPayload as NSDictionary)`.
///
/// How it was checked: parsed with tree-sitter's Dart grammar and read line by line against the plugin's sources at
/// 3.1.5. No Dart SDK has compiled it, and it has not been run on a phone.
library;

import 'dart:convert';

import 'package:flutter_callkit_incoming/entities/entities.dart';
import 'package:flutter_callkit_incoming/flutter_callkit_incoming.dart';

import 'reveille_http.dart';

/// Keeps no state: `extra` carries what a request needs, so that it works in a background isolate as well.
class ReveilleCallkit {
  const ReveilleCallkit(this.server, {this.onAnswered, this.onEnded});

  final String server;

  /// The call is answered on this device: open a session with `push.wakeToken`; its result has the caller's SDP.
  final void Function(ReveillePush push)? onAnswered;

  /// The call is over on this device.
  final void Function(String callId)? onEnded;

  ReveilleHttp get _http => ReveilleHttp(server);

  /// Events from before Dart ran are lost. The calls that are on the screen then are reported here.
  Future<void> start() async {
    FlutterCallkitIncoming.onEvent.listen(handle);
    for (final call in await FlutterCallkitIncoming.activeCalls()) {
      await _displayed(call);
    }
  }

  Future<void> handle(CallEvent? event) async {
    switch (event) {
      case CallEventActionCallIncoming(:final callKitParams):
        await _displayed(callKitParams);
      case CallEventActionCallAccept(:final callKitParams):
        await _answered(callKitParams);
      case CallEventActionCallDecline(:final callKitParams):
        await _ended(callKitParams, (push) => _http.decline(push));
      case CallEventActionCallEnded(:final callKitParams):
        await _ended(callKitParams, (push) => _http.hangup(push));
      case CallEventActionCallTimeout(:final id):
        // The server's own deadline ends the call.
        onEnded?.call(id);
      default:
        break;
    }
  }

  /// Android: a data message. Completes when the server knows, so that the background isolate lives until then.
  Future<void> incoming(Map<String, dynamic> data) async {
    final extra = jsonDecode(data['extra'] as String? ?? '{}') as Map<String, dynamic>;
    final id = data['id'] as String?;
    final push = ReveillePush.of(id, extra);
    if (id == null || push == null) return;
    if (ReveillePush.isOver(data)) {
      await _http.report(push, 'not_required');
      return;
    }
    final call = CallKitParams(
      id: id,
      nameCaller: data['nameCaller'] as String?,
      handle: data['handle'] as String?,
      type: int.tryParse(data['type'] as String? ?? ''),
      duration: int.tryParse(data['duration'] as String? ?? ''),
      extra: extra,
    );
    await FlutterCallkitIncoming.showCallkitIncoming(call);
    await _displayed(call);
  }

  Future<void> _displayed(CallKitParams call) async {
    final push = ReveillePush.of(call.id, call.extra);
    if (push == null) return;
    final answer = await _http.report(push, 'reported');
    if (answer.isOver) await FlutterCallkitIncoming.endCall(call.id);
  }

  Future<void> _answered(CallKitParams call) async {
    final push = ReveillePush.of(call.id, call.extra);
    if (push == null) return;
    final answer = await _http.answer(push);
    if (answer.status == 200) {
      onAnswered?.call(push);
    } else {
      // Another device has the call, or it is over.
      await FlutterCallkitIncoming.endCall(call.id);
    }
  }

  Future<void> _ended(CallKitParams call, Future<ReveilleAnswer> Function(ReveillePush push) tell) async {
    onEnded?.call(call.id);
    final push = ReveillePush.of(call.id, call.extra);
    if (push != null) await tell(push);
  }
}
