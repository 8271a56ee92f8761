/** The script of a page that publishes by WHIP, with its own code or with one of two clients from npm. Bundled by the test. */
import { WHIPClient as EyevinnClient } from '@eyevinn/whip-web-client'
import { WHIPClient as MedoozeClient } from 'whip-whep/whip.js'

const BARS = 40
const WIDTH = 640
const HEIGHT = 360

/** A noisy video that compresses badly, with the time as bars at the top: 32 bits, and 8 check bits. */
function clockStream() {
  const canvas = document.createElement('canvas')
  Object.assign(canvas, { width: WIDTH, height: HEIGHT })
  const context = canvas.getContext('2d')
  const noise = context.createImageData(WIDTH, HEIGHT)
  const draw = () => {
    const bytes = new Uint32Array(noise.data.buffer)
    for (let index = 0; index < bytes.length; index += 7) bytes[index] = 0xff000000 | (Math.random() * 0xffffff)
    context.putImageData(noise, 0, 0)
    const time = Date.now() % 2 ** 32
    const check = ((time >>> 24) ^ (time >>> 16) ^ (time >>> 8) ^ time) & 0xff
    for (let bar = 0; bar < BARS; bar += 1) {
      const bit = bar < 32 ? (time >>> (31 - bar)) & 1 : (check >>> (39 - bar)) & 1
      context.fillStyle = bit ? '#fff' : '#000'
      context.fillRect((bar * WIDTH) / BARS, 0, WIDTH / BARS, HEIGHT / 8)
    }
  }
  draw()
  setInterval(draw, 33)
  const audio = new AudioContext()
  const tone = audio.createOscillator()
  const target = audio.createMediaStreamDestination()
  tone.connect(target)
  tone.start()
  return new MediaStream([...canvas.captureStream(30).getTracks(), ...target.stream.getTracks()])
}

function camera() {
  return navigator.mediaDevices.getUserMedia({ video: { width: WIDTH, height: HEIGHT }, audio: true })
}

function addTracks(pc, media, codec) {
  for (const track of media.getTracks()) {
    const transceiver = pc.addTransceiver(track, { direction: 'sendonly' })
    if (track.kind !== 'video' || codec === undefined) continue
    const { codecs } = RTCRtpSender.getCapabilities('video')
    transceiver.setCodecPreferences(codecs.filter(({ mimeType }) => mimeType === codec || mimeType === 'video/rtx'))
  }
}

async function byHand(url, token, media, codec) {
  const pc = new RTCPeerConnection()
  addTracks(pc, media, codec)
  await pc.setLocalDescription()
  const headers = { Authorization: `Bearer ${token}` }
  const answer = await fetch(url, {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/sdp' },
    body: pc.localDescription.sdp,
  })
  if (!answer.ok) throw new Error(`status ${answer.status}`)
  await pc.setRemoteDescription({ type: 'answer', sdp: await answer.text() })
  const session = new URL(answer.headers.get('Location'), url)
  return {
    pc,
    stop: async () => {
      await fetch(session, { method: 'DELETE', headers })
      pc.close()
    },
    leave: () => pc.close(),
  }
}

async function byMedooze(url, token, media) {
  const pc = new RTCPeerConnection()
  addTracks(pc, media)
  const client = new MedoozeClient()
  await client.publish(pc, url, token)
  return { pc, stop: () => client.stop() }
}

async function byEyevinn(url, token, media) {
  let pc
  const peerConnectionFactory = (configuration) => (pc = new RTCPeerConnection(configuration))
  const client = new EyevinnClient({ endpoint: url, opts: { authkey: token }, peerConnectionFactory })
  await client.ingest(media)
  return { pc, stop: () => client.destroy() }
}

const CLIENTS = { page: byHand, 'whip-whep': byMedooze, '@eyevinn/whip-web-client': byEyevinn }

let live

globalThis.go = async ({ client, codec, source, token, url }) => {
  live = await CLIENTS[client](url, token, source === 'clock' ? clockStream() : await camera(), codec)
}
globalThis.stop = () => live.stop()
globalThis.leave = () => live.leave()
globalThis.state = () => live?.pc.connectionState
globalThis.sent = async () => {
  const stats = [...(await live.pc.getStats()).values()]
  const { framesSent, frameHeight, qualityLimitationReason, bytesSent, nackCount, pliCount, retransmittedPacketsSent } =
    stats.find(({ kind, type }) => type === 'outbound-rtp' && kind === 'video') ?? {}
  return { framesSent, frameHeight, qualityLimitationReason, bytesSent, nackCount, pliCount, retransmittedPacketsSent }
}
globalThis.isReady = true
