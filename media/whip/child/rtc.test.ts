import { expect, test } from 'vitest'
import { Connection, MediaTrack, type NativePeer, type NativeTrack } from './rtc.ts'

/** A native track whose peer disconnects between `isOpen` and the send. */
class ClosingTrack implements NativeTrack {
  listener: (bytes: Buffer) => void = () => {}
  isOpen(): boolean {
    return true
  }
  sendMessageBinary(): boolean {
    throw new Error('Track is not open')
  }
  onMessage(listener: (bytes: Buffer) => void): void {
    this.listener = listener
  }
  onOpen(): void {}
  close(): void {
    throw new Error('Track is closed')
  }
}

/** A native track and peer connection whose events a test triggers in any order. */
class ScriptedTrack implements NativeTrack {
  opened = false
  listener: (bytes: Buffer) => void = () => {}
  onOpened: () => void = () => {}
  isOpen = () => this.opened
  sendMessageBinary = () => this.opened
  setMediaHandler(): void {}
  onMessage(listener: (bytes: Buffer) => void): void {
    this.listener = listener
  }
  onOpen(listener: () => void): void {
    this.onOpened = listener
  }
  open(): void {
    this.opened = true
    this.onOpened()
  }
  close(): void {}
}

class ScriptedPeer {
  readonly track = new ScriptedTrack()
  onTracks: (track: ScriptedTrack) => void = () => {}
  onState: (state: string) => void = () => {}
  onTrack(listener: (track: ScriptedTrack) => void): void {
    this.onTracks = listener
  }
  addTrack(): ScriptedTrack {
    return this.track
  }
  onStateChange(listener: (state: string) => void): void {
    this.onState = listener
  }
  onGatheringStateChange(): void {}
  setRemoteDescription(): void {}
  setLocalDescription(): void {}
  localDescription(): null {
    return null
  }
  close(): void {}
}

/** A connection over a scripted peer, and the events that its listener received. */
function scriptedConnection() {
  const peer = new ScriptedPeer()
  const events: string[] = []
  const connection = new Connection(
    'a peer',
    { host: '127.0.0.1', port: 0 },
    {
      onAnswer: () => events.push('answer'),
      onConnected: () => events.push('connected'),
      onEnd: (reason) => events.push(reason),
    },
    () => peer as unknown as NativePeer,
  )
  return { peer, connection, events }
}

test('reports a track that closes between the check and the send as a fault, without throwing', () => {
  const faults: string[] = []
  const track = new MediaTrack(new ClosingTrack(), ({ message }) => faults.push(message))
  expect(track.send(Buffer.of(1))).toBe(false)
  expect(faults).toEqual(['Track is not open'])
  track.close()
  expect(faults).toHaveLength(1)
})

test('reports an error of the packet listener as a fault', () => {
  const faults: string[] = []
  const native = new ClosingTrack()
  const track = new MediaTrack(native, ({ message }) => faults.push(message))
  track.onMessage(() => {
    throw new RangeError('unexpected packet')
  })
  native.listener(Buffer.alloc(12))
  expect(faults).toEqual(['unexpected packet'])
})

test('reports the connection once, before a packet that arrives before the state change', () => {
  const { connection, events, peer } = scriptedConnection()
  connection.onTrack((track) => track.onMessage((bytes) => events.push(`packet ${bytes[0]}`)))
  connection.answer('an offer')
  peer.onTracks(peer.track)
  peer.track.listener(Buffer.of(1))
  peer.onState('connected')
  peer.track.listener(Buffer.of(2))
  expect(events).toEqual(['connected', 'packet 1', 'packet 2'])
})

test('reports the connection of a viewer only when its tracks are open', () => {
  const { connection, events, peer } = scriptedConnection()
  const track = connection.addTrack('video', '0', 96)
  connection.answer('an offer')
  peer.onState('connected')
  expect(events).toEqual([])
  expect(track.send(Buffer.of(1))).toBe(false)
  peer.track.open()
  expect(events).toEqual(['connected'])
  expect(track.send(Buffer.of(1))).toBe(true)
})
