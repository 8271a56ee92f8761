import { expect, test } from 'vitest'
import { MediaTrack, type NativeTrack } from './rtc.ts'

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
  close(): void {
    throw new Error('Track is closed')
  }
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
