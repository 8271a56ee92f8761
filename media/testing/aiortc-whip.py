"""A WHIP client (RFC 9725) based on aiortc. Sends a test picture and a tone until its input ends.

    aiortc-whip.py URL TOKEN CODEC     CODEC: H264 or VP8
"""
import asyncio
import fractions
import math
import sys
import urllib.request

import numpy
from aiortc import RTCPeerConnection, RTCRtpSender, RTCSessionDescription, VideoStreamTrack
from aiortc.mediastreams import AudioStreamTrack
from av import AudioFrame, VideoFrame

WIDTH, HEIGHT, RATE = 320, 240, 48_000


class Picture(VideoStreamTrack):
    """A moving bar at 30 frames per second."""

    count = 0

    async def recv(self):
        pts, time_base = await self.next_timestamp()
        pixels = numpy.full((HEIGHT, WIDTH, 3), 40, dtype=numpy.uint8)
        at = self.count * 4 % (WIDTH - 40)
        pixels[:, at : at + 40] = 220
        self.count += 1
        frame = VideoFrame.from_ndarray(pixels, format="bgr24")
        frame.pts, frame.time_base = pts, time_base
        return frame


class Tone(AudioStreamTrack):
    """440 Hz in frames of 20 ms."""

    at = 0

    async def recv(self):
        frame = await super().recv()
        samples = RATE // 50
        time = (numpy.arange(samples) + self.at) / RATE
        self.at += samples
        wave = (numpy.sin(2 * math.pi * 440 * time) * 8_000).astype(numpy.int16)
        tone = AudioFrame.from_ndarray(wave.reshape(1, -1), format="s16", layout="mono")
        tone.pts, tone.sample_rate, tone.time_base = self.at - samples, RATE, fractions.Fraction(1, RATE)
        return tone


def post(url, token, body):
    request = urllib.request.Request(url, body.encode(), method="POST")
    request.add_header("Authorization", f"Bearer {token}")
    request.add_header("Content-Type", "application/sdp")
    with urllib.request.urlopen(request) as response:
        return response.read().decode()


async def main(url, token, codec):
    connection = RTCPeerConnection()
    connection.addTransceiver(Tone(), direction="sendonly")
    video = connection.addTransceiver(Picture(), direction="sendonly")
    known = RTCRtpSender.getCapabilities("video").codecs
    video.setCodecPreferences([one for one in known if one.mimeType == f"video/{codec}"])
    await connection.setLocalDescription(await connection.createOffer())
    answer = await asyncio.to_thread(post, url, token, connection.localDescription.sdp)
    await connection.setRemoteDescription(RTCSessionDescription(answer, "answer"))
    await asyncio.to_thread(sys.stdin.read)
    await connection.close()


asyncio.run(main(*sys.argv[1:]))
