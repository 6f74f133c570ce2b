// A page that is opened from disk may not start a Worker, which the search needs. There, this runs the script of the
// worker in a hidden frame, so that the search works without a server and without a network.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(address) {
      super()
      this.waiting = []
      this.frame = document.createElement("iframe")
      this.frame.style.display = "none"
      document.body.appendChild(this.frame)
      const inner = this.frame.contentWindow
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
      inner.importScripts = (...addresses) => Promise.all(addresses.map((one) => this.load(one)))
      this.load(address).then(() => {
        const waiting = this.waiting
        this.waiting = null
        waiting.forEach((data) => this.postMessage(data))
      })
    }

    load(address) {
      return new Promise((resolve, reject) => {
        const script = this.frame.contentDocument.createElement("script")
        script.onload = resolve
        script.onerror = reject
        script.src = address
        this.frame.contentDocument.body.appendChild(script)
      })
    }

    postMessage(data) {
      if (this.waiting) {
        this.waiting.push(data)
      } else {
        const inner = this.frame.contentWindow
        inner.dispatchEvent(new inner.MessageEvent("message", { data }))
      }
    }

    terminate() {
      this.frame.remove()
    }
  }
}
