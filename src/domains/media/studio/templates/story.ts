import { column, heightOf, scaleOf, textItem } from './column.ts'
import { readableOn, shadeFor } from './contrast.ts'
import { box, given, picture, place, type Template } from './template.ts'

const SECONDS = 6
/** Apps cover these shares of an upright page, at the top and at the bottom. */
const [COVERED_ABOVE, COVERED_BELOW] = [0.14, 0.18]
const UPRIGHT = 1.5

export const story: Template = {
  name: 'Story',
  description: 'An upright picture or video, with a title that slides in and a call to act',
  format: 'mp4',
  pageFormat: 'story',
  hasSound: true,
  required: ['title'],
  optional: ['text', 'pictureAssetIds', 'videoAssetId', 'soundAssetId'],
  colors: { backgroundColor: '#3d1766', textColor: '#ffffff', accentColor: '#d81e5b' },
  build: ({ seconds, values }, style) => {
    const { accentColor, backgroundColor, height, margin, page, textColor, unit, width } = style
    const { pictureAssetIds = [], text: call, title = '', videoAssetId } = values
    const wide = width - 2 * margin
    const whole = [0, 0, width, height] as const
    const isUpright = height > UPRIGHT * width
    const top = isUpright ? height * COVERED_ABOVE : margin
    const bottom = isUpright ? height * (1 - COVERED_BELOW) : height - margin
    const indent = 50 * unit
    const titles = [
      textItem(title, 0, {
        fontSize: 120 * unit,
        color: textColor,
        fontWeight: 'bold',
        lineHeight: 1.1,
        verticalAlign: 'middle',
        enter: { effect: 'slide', seconds: 0.6, side: 'right' },
      }),
    ]
    const calls =
      call === undefined
        ? []
        : [
            textItem(
              call,
              90 * unit,
              {
                fontSize: 60 * unit,
                color: readableOn(accentColor, textColor, backgroundColor),
                boxColor: accentColor.slice(0, 7),
                fontWeight: 'bold',
                align: 'center',
                verticalAlign: 'bottom',
                startSeconds: 0.5,
                enter: { effect: 'zoom', seconds: 0.4 },
              },
              0.4,
            ),
          ]
    const scale = scaleOf([...titles, ...calls], wide - indent, bottom - top)
    const upper = heightOf(titles, wide - indent, scale)
    const lower = heightOf(calls, wide, scale)
    const hasPicture = videoAssetId !== undefined || pictureAssetIds.length > 0
    const shade = shadeFor(textColor, backgroundColor)
    const shaded = top + upper + 20 * unit
    return [
      {
        ...page,
        seconds: videoAssetId === undefined ? SECONDS : seconds,
        layers: [
          ...picture(videoAssetId === undefined ? pictureAssetIds[0] : undefined, whole),
          ...given(videoAssetId, (assetId) => ({ kind: 'video', assetId, fit: 'cover', ...place(whole) })),
          ...(hasPicture
            ? [
                box([0, 0, width, Math.round(shaded)], shade),
                box([0, Math.round(shaded), width, 320 * unit], shade, { endColor: `${shade.slice(0, 7)}00` }),
              ]
            : []),
          box([margin, top, 14 * unit, upper], accentColor, {
            radius: 7 * unit,
            enter: { effect: 'slide', seconds: 0.5, side: 'left' },
          }),
          ...column(titles, [margin + indent, top, wide - indent, upper], 'top', scale).layers,
          ...column(calls, [margin, bottom - lower, wide, lower], 'top', scale).layers,
        ],
      },
    ]
  },
}
