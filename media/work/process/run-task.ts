import { probe } from '../probe/probe.ts'
import { speech } from '../speech/speech.ts'
import { subtitles } from '../speech/subtitles.ts'
import { renderScene } from '../studio/render.ts'
import { thumbnails } from '../thumbnails/thumbnails.ts'
import { preview } from '../transcode/preview.ts'
import { transcode } from '../transcode/transcode.ts'
import type { WorkContext } from './context.ts'
import type { Task, Tasks } from './protocol.ts'

/** Runs a job to its end. @throws MediaWorkError, or a system error */
export function runTask(task: Task, context: WorkContext): Promise<Tasks[Task['kind']]['result']> {
  switch (task.kind) {
    case 'probe':
      return probe(task.path, context)
    case 'thumbnails':
      return thumbnails(task.path, task.outputDir, task.options, context)
    case 'transcode':
      return transcode(task.path, task.output, task, context)
    case 'speech':
      return speech(task.path, task.outputDir, task, context)
    case 'subtitles':
      return subtitles(task.path, task.language, context)
    case 'render':
      return renderScene(task.path, task.outputDir, task.order, context)
    default:
      return preview(task.path, task.outputDir, task.probed, context)
  }
}
