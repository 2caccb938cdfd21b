// Events and abort signals as browsers have them.

class Event {
    constructor(type, options = {}) {
        hide(this, 'made', { type: toText(type), cancelable: Boolean(options?.cancelable), bubbles: Boolean(options?.bubbles) });
        hide(this, 'timeStamp', now());
        hide(this, 'target', null);
        hide(this, 'isStopped', false);
        hide(this, 'defaultPrevented', false);
    }

    get type() { return this.made.type; }

    get bubbles() { return this.made.bubbles; }

    get cancelable() { return this.made.cancelable; }

    get currentTarget() { return this.target; }

    preventDefault() { if (this.cancelable) hide(this, 'defaultPrevented', true); }

    stopPropagation() {}

    stopImmediatePropagation() { hide(this, 'isStopped', true); }
}

class CustomEvent extends Event {
    constructor(type, options = {}) {
        super(type, options);
        hide(this, 'detail', options?.detail ?? null);
    }
}

class EventTarget {
    #listeners = [];

    addEventListener(type, listener, options) {
        const once = isObject(options) && Boolean(options.once);
        if (isObject(listener) && !this.#listeners.some((known) => known.type === type && known.listener === listener)) {
            this.#listeners.push({ type, listener, once });
        }
        if (isObject(options)) options.signal?.addEventListener('abort', () => this.removeEventListener(type, listener));
    }

    removeEventListener(type, listener) {
        this.#listeners = this.#listeners.filter((known) => known.type !== type || known.listener !== listener);
    }

    dispatchEvent(event) {
        hide(event, 'target', this);
        const handler = this[`on${event.type}`];
        if (typeof handler === 'function') apply(handler, this, [event]);
        for (const { type, listener, once } of this.#listeners.slice()) {
            if (type !== event.type || event.isStopped) continue;
            if (once) this.removeEventListener(type, listener);
            if (typeof listener === 'function') apply(listener, this, [event]);
            else listener.handleEvent(event);
        }
        return !event.defaultPrevented;
    }
}

class AbortSignal extends EventTarget {
    onabort = null;

    #reason;

    static abort(reason) {
        const signal = new AbortSignal();
        abortSignal(signal, reason);
        return signal;
    }

    static timeout(delay) {
        const signal = new AbortSignal();
        setTimeout(() => abortSignal(signal, new DOMException('The operation was aborted due to timeout', 'TimeoutError')), delay).unref();
        return signal;
    }

    static any(signals) {
        const signal = new AbortSignal();
        for (const source of signals) {
            if (source.aborted) abortSignal(signal, source.reason);
            else source.addEventListener('abort', () => abortSignal(signal, source.reason));
        }
        return signal;
    }

    // For AbortController alone.
    static take() {
        delete AbortSignal.take;
        return (signal, reason = new DOMException('This operation was aborted', 'AbortError')) => {
            if (signal.aborted) return;
            signal.#reason = reason;
            signal.dispatchEvent(new Event('abort'));
        };
    }

    get aborted() { return this.#reason !== undefined; }

    get reason() { return this.#reason; }

    throwIfAborted() { if (this.aborted) throw this.#reason; }

    [customInspect]() { return `AbortSignal { aborted: ${this.aborted} }`; }
}
const abortSignal = AbortSignal.take();

class AbortController {
    #signal = new AbortSignal();

    get signal() { return this.#signal; }

    abort(reason) { abortSignal(this.#signal, reason); }

    [customInspect]() { return `AbortController { signal: AbortSignal { aborted: ${this.#signal.aborted} } }`; }
}

return { Event, CustomEvent, EventTarget, AbortSignal, AbortController };
