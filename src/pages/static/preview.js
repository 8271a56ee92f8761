/** Plays the stream of this page and reconnects when it breaks off: over WebRTC if possible, otherwise as FLV. */

const video = document.querySelector('video')
const id = location.pathname.split('/').at(-1)
const token = new URLSearchParams(location.search).get('token') ?? ''
const url = new URL(`/api/streams/${id}/preview.flv?token=${encodeURIComponent(token)}`, location.href).href
const whepUrl = `/api/streams/${id}/whep`

const AGAIN_MS = 2_000
const ANSWER_MS = 15_000
/** How long to wait for the first frame after the WebRTC answer. UDP may be blocked. */
const FIRST_PICTURE_MS = 5_000
/** Messages for replies after which a retry is pointless. */
const FINAL = {
  401: 'This link is no longer valid: it has expired, or the stream was stopped. Ask for a new one.',
  403: 'You are not allowed to watch this stream.',
  404: 'This stream does not exist.',
}
const WAITING = 'The stream has not started yet. Waiting for the encoder.'
const INTERRUPTED = 'Interrupted. Reconnecting.'

/** Stops playback. */
let stop = () => {}

function say(status, alert = '') {
  document.querySelector('[role=status]').textContent = status
  document.querySelector('[role=alert]').textContent = alert
}

function again(why) {
  stop()
  say(why)
  setTimeout(() => void play(), AGAIN_MS)
}

/** Whether a retry is pointless. Shows the reason. */
function isFinal(code) {
  if (FINAL[code] === undefined) return false
  stop()
  say('', FINAL[code])
  return true
}

function start() {
  video.play()?.catch(({ name }) => {
    if (name === 'NotAllowedError') say('Press play to watch.')
  })
}

async function play() {
  if (globalThis.RTCPeerConnection === undefined) return playFlv()
  const pc = new RTCPeerConnection()
  let timer
  let over = false
  const finish = (next) => {
    if (over) return
    stop()
    next()
  }
  stop = () => {
    over = true
    clearTimeout(timer)
    pc.close()
    video.srcObject = null
  }
  const stream = new MediaStream()
  pc.ontrack = ({ track }) => stream.addTrack(track)
  pc.onconnectionstatechange = () => {
    if (['failed', 'closed', 'disconnected'].includes(pc.connectionState)) finish(() => again(INTERRUPTED))
  }
  video.addEventListener('playing', () => clearTimeout(timer), { once: true })
  for (const kind of ['video', 'audio']) pc.addTransceiver(kind, { direction: 'recvonly' })
  try {
    await pc.setLocalDescription()
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/sdp' }
    const body = pc.localDescription.sdp
    const answer = await fetch(whepUrl, { method: 'POST', headers, body, signal: AbortSignal.timeout(ANSWER_MS) })
    if (over || isFinal(answer.status)) return
    if (answer.status === 409) return finish(() => again(WAITING))
    if (!answer.ok) return finish(playFlv)
    await pc.setRemoteDescription({ type: 'answer', sdp: await answer.text() })
    if (over) return
    timer = setTimeout(() => finish(playFlv), FIRST_PICTURE_MS)
    video.srcObject = stream
    start()
  } catch {
    finish(playFlv)
  }
}

function playFlv() {
  if (!mpegts.isSupported()) return say('', 'This browser cannot play live FLV.')
  const player = mpegts.createPlayer(
    { type: 'flv', isLive: true, url },
    {
      enableStashBuffer: false,
      lazyLoad: false,
      autoCleanupSourceBuffer: true,
      liveBufferLatencyChasing: true,
      liveBufferLatencyMaxLatency: 3,
      liveBufferLatencyMinRemain: 0.5,
    },
  )
  stop = () => player.destroy()
  player.on(mpegts.Events.ERROR, (_type, _detail, { code } = {}) => {
    if (!isFinal(code)) again(code === 409 ? WAITING : INTERRUPTED)
  })
  player.on(mpegts.Events.LOADING_COMPLETE, () => again('The stream has paused. Reconnecting.'))
  player.attachMediaElement(video)
  player.load()
  start()
}

video.addEventListener('playing', () => say('Live'))
// An unclosed connection looks to the server as if it were still in use.
addEventListener('pagehide', () => stop())
void play()
