import { expect, test } from 'vitest'
import { Connection, MediaTrack, type NativePeer, type NativeTrack } from './rtc.ts'

/** A native track whose peer leaves between `isOpen` and the send. */
class LeavingTrack implements NativeTrack {
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

/** A native track and peer connection that report in the order in which a test tells them to. */
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

/** A connection over a scripted peer, and what its owner hears. */
function scripted() {
  const peer = new ScriptedPeer()
  const heard: string[] = []
  const connection = new Connection(
    'a peer',
    { host: '127.0.0.1', port: 0 },
    {
      onAnswer: () => heard.push('answer'),
      onConnected: () => heard.push('connected'),
      onEnd: (reason) => heard.push(reason),
    },
    () => peer as unknown as NativePeer,
  )
  return { peer, connection, heard }
}

test('a track that closes between the check and the send is a fault of its peer, not an exception', () => {
  const faults: string[] = []
  const track = new MediaTrack(new LeavingTrack(), ({ message }) => faults.push(message))
  expect(track.send(Buffer.of(1))).toBe(false)
  expect(faults).toEqual(['Track is not open'])
  track.close()
  expect(faults).toHaveLength(1)
})

test('an error in what handles a packet is a fault of the peer that sent it', () => {
  const faults: string[] = []
  const native = new LeavingTrack()
  const track = new MediaTrack(native, ({ message }) => faults.push(message))
  track.onMessage(() => {
    throw new RangeError('a packet nobody foresaw')
  })
  native.listener(Buffer.alloc(12))
  expect(faults).toEqual(['a packet nobody foresaw'])
})

test('a packet that comes before the state says so proves the connection: its owner hears of that first, and once', () => {
  const { connection, heard, peer } = scripted()
  connection.onTrack((track) => track.onMessage((bytes) => heard.push(`packet ${bytes[0]}`)))
  connection.answer('an offer')
  peer.onTracks(peer.track)
  peer.track.listener(Buffer.of(1))
  peer.onState('connected')
  peer.track.listener(Buffer.of(2))
  expect(heard).toEqual(['connected', 'packet 1', 'packet 2'])
})

test('a connection that sends is connected when its tracks are open: nothing sent before would arrive', () => {
  const { connection, heard, peer } = scripted()
  const track = connection.addTrack('video', '0', 96)
  connection.answer('an offer')
  peer.onState('connected')
  expect(heard).toEqual([])
  expect(track.send(Buffer.of(1))).toBe(false)
  peer.track.open()
  expect(heard).toEqual(['connected'])
  expect(track.send(Buffer.of(1))).toBe(true)
})
