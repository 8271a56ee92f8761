/** Plays the stream that the address names, a second or so behind, and comes back when it breaks off. */

const video = document.querySelector('video')
const id = location.pathname.split('/').at(-1)
const token = new URLSearchParams(location.search).get('token') ?? ''
const url = new URL(`/api/streams/${id}/preview.flv?token=${encodeURIComponent(token)}`, location.href).href

const AGAIN_MS = 2_000
/** What an answer means when there is no sense in asking again. */
const FINAL = {
  401: 'This link is no longer good: it has expired, or the stream was stopped. Ask for a new one.',
  403: 'You may not see this stream.',
  404: 'There is no such stream.',
}

let player

function say(status, alert = '') {
  document.querySelector('[role=status]').textContent = status
  document.querySelector('[role=alert]').textContent = alert
}

function stop() {
  player?.destroy()
  player = undefined
}

function again(why) {
  stop()
  say(why)
  setTimeout(play, AGAIN_MS)
}

function play() {
  player = mpegts.createPlayer(
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
  player.on(mpegts.Events.ERROR, (_type, _detail, { code } = {}) => {
    if (FINAL[code] !== undefined) {
      stop()
      say('', FINAL[code])
    } else again(code === 409 ? 'Nothing comes in yet. Waiting for the encoder.' : 'Interrupted. Connecting again.')
  })
  player.on(mpegts.Events.LOADING_COMPLETE, () => again('The stream has paused. Connecting again.'))
  player.attachMediaElement(video)
  player.load()
  player.play()?.catch(({ name }) => {
    if (name === 'NotAllowedError') say('Press play to watch.')
  })
}

video.addEventListener('playing', () => say('Live'))
if (mpegts.isSupported()) play()
else say('', 'This browser cannot play live FLV.')
